"""Representative recordings of Claude Code and what a client sees of them, as readable files.

`python -m tests.wire.dialects.test_claude_golden` writes the files again; review the difference.
"""

from __future__ import annotations

import json

import pytest

from tests.replay import GOLDENS
from tests.wire.dialects.claude_replay import played

GOLDEN = GOLDENS
SHOWN = {
    "text": "text, token by token",
    "thinking": "thinking and its signature",
    "tool-parallel": "two calls in one message",
    "tool-mcp": "a tool of an MCP server",
    "schema": "a structured output",
    "permission-denied": "no user to ask",
    "resume-2": "a session that came back: only this turn is counted",
    "midfail": "an answer that broke off, taken back and sent whole",
    "error-401": "retries, then a failure that was reported as text",
    "cancel-sigint-in-tool": "stopped by a signal",
    "print-subagent-background": "two results, one end",
    "bidir-permissions-interrupt": "allowed, refused, stopped, changed, cancelled; an image",
    "bidir-parallel-permissions": "two questions",
    "bidir-interrupt-pending-permission": "cancelled while it asks",
    "bidir-ask-user-question": "a form",
    "bidir-plan-mode": "a plan refused, then approved",
    "bidir-subagents": "subagents: waited for, asking, nested, failing, two at once",
    "bidir-cancels": "four ways to be cancelled",
    "bidir-background-shell": "a turn that Claude started, in the next run",
    "bidir-commands": "commands of its own, a compaction, an overloaded model",
}


def render(name: str) -> str:
    """One event a line."""
    blocks = [
        "[\n" + ",\n".join(json.dumps(event, ensure_ascii=False, sort_keys=True) for event in stream) + "\n]"
        for stream in played(name).runs.streams
    ]
    return "[" + ",\n".join(blocks) + "]\n"


@pytest.mark.parametrize("name", SHOWN)
def test_a_client_sees_what_the_file_holds(name: str) -> None:
    assert render(name) == (GOLDEN / f"claude-{name}.json").read_text("utf-8")


def test_every_file_belongs_to_a_recording() -> None:
    assert sorted(path.stem for path in GOLDEN.glob("claude-*.json")) == sorted(f"claude-{name}" for name in SHOWN)


def write() -> None:
    for name in SHOWN:
        (GOLDEN / f"claude-{name}.json").write_text(render(name), "utf-8")


if __name__ == "__main__":
    write()
