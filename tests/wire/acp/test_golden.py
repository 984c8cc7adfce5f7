"""Representative transcripts and what a client sees of them, as files to be read by eye.

`python -m tests.wire.acp.test_golden` writes them again; the difference is then to be looked at.
"""

from __future__ import annotations

from typing import Any

import pytest

from gateway.events import Wire
from tests.replay import GOLDENS
from tests.replay.golden import render_runs
from tests.wire.acp.replay import replay_transcript

GOLDEN = GOLDENS / "acp"
CASES = {
    "claude-agent-acp/write_allow": "input that grows, a diff, a permission",
    "claude-agent-acp/extra": "a form to fill in, a subagent with a session of its own, an answer after the turn",
    "claude-agent-acp/v2": "version 2: terminals, a turn in updates, a replay",
    "cline/tool_reject": "a reason that comes after the failure",
    "codex-acp-zed/extra": "a plan between two texts",
    "codex-acp/commands": "a compaction, notices",
    "codex-acp/tool_fail": "a terminal's output in _meta",
    "codex-acp/v2": "version 2: an error as a state",
    "copilot-cli/error_overloaded": "a failure sent as text",
    "fast-agent/tool_allow": "a permission before the input is known",
    "gemini-cli/tool_allow": "a call first seen in a permission",
    "hermes-agent/cancel_tool": "an exception that is a cancel's end",
    "hermes-agent/text": "token counts that go on over the turns",
    "opencode/load": "load, resume and a fork that is replayed",
    "openhands/tool_parallel": "two calls at once, and a permission of its own",
    "pi-acp/error": "a turn with nothing in it",
    "qwen-code/tool_allow": "token counts by call",
    "ts-sdk-example/text": "ids that come again in the next turn",
}


def render(name: str) -> str:
    """The runs, then the histories that were replayed."""
    sessions = replay_transcript(name).sessions.values()
    runs = [run for session in sessions for run in session.runs]
    histories = [history for session in sessions for history in session.histories if history]
    return render_runs([[_brief(event) for event in block] for block in [*runs, *histories]])


def _brief(event: Wire) -> Wire:
    """Lists of commands and options by their names only: they are long, and tested elsewhere."""
    if event.get("name") not in ("session.commands", "session.config"):
        return event
    value: dict[str, Any] = {key: [entry.get("name") for entry in listed] for key, listed in event["value"].items()}
    return {**event, "value": value}


@pytest.mark.parametrize("name", CASES)
def test_a_client_sees_what_the_golden_file_has(name: str) -> None:
    assert render(name) == (GOLDEN / f"{name.replace('/', '-')}.json").read_text("utf-8")


def test_every_file_belongs_to_a_transcript() -> None:
    assert sorted(path.stem for path in GOLDEN.iterdir()) == sorted(name.replace("/", "-") for name in CASES)


def write() -> None:
    for name in CASES:
        (GOLDEN / f"{name.replace('/', '-')}.json").write_text(render(name), "utf-8")


if __name__ == "__main__":
    write()
