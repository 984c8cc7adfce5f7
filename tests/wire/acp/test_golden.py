"""Representative transcripts and what a client sees of them, as files to be read by eye.

`python -m tests.wire.acp.test_golden` writes them again; the difference is then to be looked at.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from gateway.events import Wire
from tests.replay import GOLDENS
from tests.wire.acp.replay import played

GOLDEN = GOLDENS / "acp"
SHOWN = {
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


def shown(name: str) -> str:
    """One event a line."""
    runs = [run for session in played(name).sessions.values() for run in session.runs]
    histories = [history for session in played(name).sessions.values() for history in session.histories if history]
    blocks = ["[\n" + ",\n".join(_line(event) for event in run) + "\n]" for run in [*runs, *histories]]
    return "[" + ",\n".join(blocks) + "]\n"


def _line(event: Wire) -> str:
    return json.dumps(_brief(event), ensure_ascii=False, sort_keys=True)


def _brief(event: Wire) -> Wire:
    """Lists of commands and options by their names only: they are long, and tested elsewhere."""
    if event.get("name") not in ("session.commands", "session.config"):
        return event
    value: dict[str, Any] = {key: [entry.get("name") for entry in listed] for key, listed in event["value"].items()}
    return {**event, "value": value}


@pytest.mark.parametrize("name", SHOWN)
def test_a_client_sees_what_the_golden_file_has(name: str) -> None:
    assert shown(name) == (GOLDEN / f"{name.replace('/', '-')}.json").read_text("utf-8")


def test_every_file_belongs_to_a_transcript() -> None:
    assert sorted(path.stem for path in GOLDEN.iterdir()) == sorted(name.replace("/", "-") for name in SHOWN)


def write() -> None:
    for name in SHOWN:
        (GOLDEN / f"{name.replace('/', '-')}.json").write_text(shown(name), "utf-8")


if __name__ == "__main__":
    write()
