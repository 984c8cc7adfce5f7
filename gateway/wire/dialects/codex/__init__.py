"""Codex's two formats: its app server, and what `codex exec --json` prints."""

from __future__ import annotations

from gateway.wire.dialects.codex.run import CodexExec
from gateway.wire.dialects.codex.server import Codex

__all__ = ["Codex", "CodexExec"]
