"""Attacks on a running gateway: one file per class of incident. Each test makes the attack, and holds that it fails."""
