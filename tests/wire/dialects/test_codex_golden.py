"""Representative recordings of Codex and what a client sees of them, as readable files.

`python -m tests.wire.dialects.test_codex_golden` writes the files again; review the difference.
"""

from __future__ import annotations

import pytest

from tests.replay import GOLDENS
from tests.replay.golden import render_runs
from tests.wire.dialects.codex_replay import replay_case
from tests.wire.dialects.test_codex_exec import replay_case as replay_exec

SERVER_CASES = {
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
EXEC_CASES = {
    "text": "a message, whole",
    "thinking": "reasoning before it",
    "tool-parallel": "two commands",
    "tool-mcp": "a tool of an MCP server",
    "error-401": "a retry, then the end",
    "cancel-sigint-in-tool": "cancelled: no word of it",
}


def render(case: str) -> str:
    if case.startswith("exec-"):
        return render_runs([replay_exec(case.removeprefix("exec-"))])
    return render_runs(run for session in replay_case(f"appserver-{case}").sessions for run in session.runs)


CASES = [*SERVER_CASES, *(f"exec-{name}" for name in EXEC_CASES)]


@pytest.mark.parametrize("case", CASES)
def test_a_client_sees_what_the_file_holds(case: str) -> None:
    assert render(case) == (GOLDENS / f"codex-{case}.json").read_text("utf-8")


def test_every_file_belongs_to_a_recording() -> None:
    assert sorted(path.stem for path in GOLDENS.glob("codex-*.json")) == sorted(f"codex-{case}" for case in CASES)


def write() -> None:
    for case in CASES:
        (GOLDENS / f"codex-{case}.json").write_text(render(case), "utf-8")


if __name__ == "__main__":
    write()
