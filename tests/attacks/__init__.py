"""Attacks on a real gateway: one file for each class of incidents. Each attack must fail."""
