"""Formats that command-line agents speak: one file (or folder) each, one line here."""

from __future__ import annotations

from gateway.wire.dialects.base import ActionResult, Block, Dialect, Prompt, SessionStart
from gateway.wire.dialects.claude import ClaudeDialect, ClaudePrint
from gateway.wire.dialects.codex import Codex, CodexExec
from gateway.wire.dialects.copilot import CopilotDialect, CopilotPrintDialect
from gateway.wire.dialects.cursor import CursorDialect
from gateway.wire.dialects.gemini import GeminiStream
from gateway.wire.dialects.hermes import Hermes
from gateway.wire.dialects.openclaw import OpenClaw, OpenClawExec
from gateway.wire.dialects.opencode import OpenCode, OpenCodeRun
from gateway.wire.dialects.pi import OmpJson, OmpRpc, PiJson, PiRpc
from gateway.wire.dialects.plain import AguiLines, PlainText

__all__ = ["DIALECTS", "SessionStart", "Block", "Dialect", "Prompt", "ActionResult"]

DIALECTS: dict[str, type[Dialect]] = {
    "text": PlainText,
    "ag-ui": AguiLines,
    "claude": ClaudeDialect,
    "claude-print": ClaudePrint,
    "codex": Codex,
    "codex-exec": CodexExec,
    "gemini": GeminiStream,
    "hermes": Hermes,
    "openclaw": OpenClaw,
    "openclaw-exec": OpenClawExec,
    "omp": OmpRpc,
    "omp-json": OmpJson,
    "opencode": OpenCode,
    "opencode-run": OpenCodeRun,
    "pi": PiRpc,
    "pi-json": PiJson,
    "copilot": CopilotDialect,
    "copilot-print": CopilotPrintDialect,
    "cursor": CursorDialect,
}
