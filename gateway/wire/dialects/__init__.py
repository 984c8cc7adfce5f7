"""The formats of command-line agents: one file, or one folder, for each agent. A dialect does no IO.

In: whole messages of an agent, and calls of the CLI driver. Out: gateway events, and messages for the agent.

Names to know: `Dialect` (`base.py`: the seam, and the manual for authors), `SessionStart` and `Prompt` (what the driver
hands in), `ActionResult` (the outcome of an action), `DIALECTS` (the registry, at the end of this file: a new dialect
is one line there).

A small format is one file (`gemini.py`). A larger one is a folder, and all folders use the same file names. A dialect
has these parts; it does not inherit from them.

| file | content |
|---|---|
| `server.py`, `rpc.py`, `stream.py`, `exec.py`, `print.py`, … | the `Dialect` subclasses, one file for each mode |
| `reader.py`, `turn_events.py`, `session_events.py`, `messages.py` | the agent's events as gateway events |
| `tool_calls.py` | tool calls, on `wire/tool_calls` |
| `permissions.py` | approvals and questions, on `wire/approvals`: request → interrupt, answer → response |
| `subagents.py` | subagents and whose events are whose |
| `sessions.py`, `session_params.py` | requests that open, resume, copy and delete a session |
| `turn_setup.py` | requests before a prompt: model, mode, attachments |
| `turn_lifecycle.py` | when a turn has started and when it is over |
| `session_state.py` | settings of the session and lists of models as capability layers |
| `steering.py` | messages of the user's during a turn |
| `client_tools.py` | the client's tools, offered to the agent |
| `attachments.py` | media of a prompt |
| `errors.py` | error texts and codes of the agent → error codes of the gateway |
| `usage.py` | token usage and cost |

`examples/dialect` is a complete small dialect with its test, to start from.
"""

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

__all__ = ["DIALECTS", "ActionResult", "Block", "Dialect", "Prompt", "SessionStart"]

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
