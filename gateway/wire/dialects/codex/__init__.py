"""Codex (`codex`), in two modes: the app server, and the lines that `codex exec --json` prints.

In: JSON messages, one per line. Out: events, and requests for its stdin. Names to know: `Codex` (`app_server`, one
process for all threads), `CodexExec` (`exec`, one process per turn), `Notifications`, `ThreadItems` (`items`, the items
of one thread in both modes), `Threads` (`subagents`).
"""

from __future__ import annotations

from gateway.wire.dialects.codex.app_server import Codex
from gateway.wire.dialects.codex.exec import CodexExec

__all__ = ["Codex", "CodexExec"]
