"""Attacks that succeeded once, or could have: one file per class of incident. Each is carried out against a real
gateway, and must fail."""
