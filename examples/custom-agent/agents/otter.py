"""A program that knows nothing of AG-UI: it reads the prompt from stdin and prints an answer."""

import sys

terms = sys.stdin.read().split()
if not terms:
    sys.exit("the prompt is empty")
print("You gave me", end=" ", flush=True)
print(f"{len(terms)} words, the longest is **{max(terms, key=len)}**.")
