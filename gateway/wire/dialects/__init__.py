"""Formats that command-line agents speak: one file (or folder) each, one line here."""

from __future__ import annotations

from gateway.wire.dialects.base import Begin, Block, Dialect, Prompt, Reply

__all__ = ["DIALECTS", "Begin", "Block", "Dialect", "Prompt", "Reply"]

DIALECTS: dict[str, type[Dialect]] = {}
