"""Attacks that succeeded once, or could have: one file for each class of incident. All of them must fail."""
