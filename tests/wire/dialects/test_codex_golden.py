"""Representative recordings of Codex and what a client sees of them, as readable files.

`python -m tests.wire.dialects.test_codex_golden` writes the files again; review the difference.
"""

from __future__ import annotations

import json

import pytest

from gateway.events import Wire
from tests.replay import GOLDENS
from tests.wire.dialects.codex_replay import played as served
from tests.wire.dialects.test_codex_exec import played as printed

GOLDEN = GOLDENS
SERVED = {
    "text-thinking-tool": "thoughts, tokens, a command's output while it runs",
    "command": "a command that fails, a file that is written, an image that is looked at",
    "approvals": "accepted, declined, cancelled, for a session; files, too",
    "parallel-approvals": "two questions at once; a turn that is stopped while it waits",
    "mcp-approval": "a tool of an MCP server: allowed, refused, allowed for the session",
    "permissions": "more permissions",
    "user-input": "a form",
    "subagent": "a subagent that works, asks, and outlives the turn",
    "interrupt-steer-error": "cancelled in mid-sentence, steered, failed twice",
    "sessions": "a thread that comes back, a fork",
}
PRINTED = {
    "text": "a message, whole",
    "thinking": "reasoning before it",
    "tool-parallel": "two commands",
    "tool-mcp": "a tool of an MCP server",
    "error-401": "a retry, then the end",
    "cancel-sigint-in-tool": "cancelled: no word of it",
}


def shown(case: str) -> str:
    """One event a line."""
    if case.startswith("exec-"):
        runs = [printed(case.removeprefix("exec-"))]
    else:
        runs = [run for talk in served(f"appserver-{case}").talks for run in talk.runs]
    blocks = ["[\n" + ",\n".join(_line(event) for event in run) + "\n]" for run in runs]
    return "[" + ",\n".join(blocks) + "]\n"


def _line(event: Wire) -> str:
    return json.dumps(event, ensure_ascii=False, sort_keys=True)


CASES = [*SERVED, *(f"exec-{name}" for name in PRINTED)]


@pytest.mark.parametrize("case", CASES)
def test_a_client_sees_what_the_file_holds(case: str) -> None:
    assert shown(case) == (GOLDEN / f"codex-{case}.json").read_text("utf-8")


def test_every_file_belongs_to_a_recording() -> None:
    assert sorted(path.stem for path in GOLDEN.glob("codex-*.json")) == sorted(f"codex-{case}" for case in CASES)


def write() -> None:
    for case in CASES:
        (GOLDEN / f"codex-{case}.json").write_text(shown(case), "utf-8")


if __name__ == "__main__":
    write()
