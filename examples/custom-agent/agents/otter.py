"""A program that knows nothing of AG-UI."""

import sys

words = sys.stdin.read().split()
if not words:
    sys.exit("there is nothing to count")
print("You gave me", end=" ", flush=True)
print(f"{len(words)} words, the longest is **{max(words, key=len)}**.")
