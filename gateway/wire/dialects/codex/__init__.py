"""Codex's two formats: its app server, and what `codex exec --json` prints."""

from __future__ import annotations

from gateway.wire.dialects.codex.app_server import Codex
from gateway.wire.dialects.codex.exec import CodexExec

__all__ = ["Codex", "CodexExec"]
