"""Hermes Agent: recordings of `hermes serve` and of its stdio twin."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gateway.events import Raw
from gateway.wire.dialects import Dialect
from gateway.wire.lines import Lines
from tests.wire.dialects.golden import GOLDEN, shown
from tests.wire.dialects.hermes_replay import FOLDER, Conversation
from tests.wire.dialects.replay import Recording, client_runs

CASES = sorted(path.stem for path in FOLDER.iterdir() if path.suffix == ".jsonl")

GOLDEN_CASES = {
    "tui-text": "text",
    "tui-thinking": "reasoning",
    "tui-tool": "a call between two messages",
    "tui-parallel": "two calls",
    "tui-permission-once": "an approval, allowed",
    "tui-permission-deny": "an approval, denied",
    "tui-error": "a model's failure",
    "tui-cancel-tool": "a call that was stopped",
    "tui-resume": "a resumed session",
    "serve-two": "two questions, one after the other",
    "serve-clarify": "a question with a form",
    "serve-plan": "a plan",
    "serve-cancel": "cancelled, and the next turn",
    "serve-cancel-early": "cancelled before it began",
    "serve-subagent": "a subagent, and a turn that Hermes started itself",
    "serve-no-provider": "no sign-in",
}


def _recording(case: str) -> Recording:
    def start() -> tuple[Dialect, list[bytes]]:
        conversation = Conversation(case)
        messages = conversation.play_to_prompt()
        return conversation.dialect, messages

    return start


RECORDINGS: dict[str, Recording] = {case: _recording(case) for case in CASES}


def _runs(case: str) -> str:
    return shown(run for turn in Conversation(case).play().turns for run in client_runs(turn))


@pytest.mark.parametrize("case", CASES)
def test_a_recording_is_a_stream_that_clients_accept(case: str) -> None:
    conversation = Conversation(case).play()
    assert conversation.turns
    assert [client_runs(turn) for turn in conversation.turns]


@pytest.mark.parametrize("case", CASES)
def test_nothing_in_a_recording_is_beyond_the_dialect(case: str) -> None:
    conversation = Conversation(case).play()
    events = [event for turn in [*conversation.turns, conversation.late] for event in turn]
    assert [event for event in events if isinstance(event, Raw)] == []
    raw = [event for turn in conversation.turns for run in client_runs(turn) for event in run if event["type"] == "RAW"]
    assert raw == []


@pytest.mark.parametrize("case", ["tui-tool", "tui-permission-deny", "serve-plan"])
@pytest.mark.parametrize("size", [1, 7, 100, 4096])
def test_the_events_are_the_same_however_the_bytes_are_cut(case: str, size: int) -> None:
    def lines(data: bytes) -> Iterator[list[bytes]]:
        framing = Lines(1_000_000)
        for at in range(0, len(data), size):
            yield [line for line in framing.feed(data[at : at + size]) if isinstance(line, bytes)]

    whole, messages = RECORDINGS[case]()
    cut, _ = RECORDINGS[case]()
    batches = lines(b"".join(message + b"\n" for message in messages))
    assert [event for batch in batches for event in cut.read(batch)] == whole.read(messages)


def test_the_session_layer_has_the_settings() -> None:
    dialect = Conversation("serve-write").play().dialect
    assert dialect.handshake_layer == {"identity.version": "0.19.0"}
    assert dialect.session_layer["custom.session.models.current"] == "custom:scripted-model"
    assert {"name": "terminal", "description": ""} in dialect.session_layer["tools.items"]


@pytest.mark.parametrize("case", GOLDEN_CASES)
def test_a_client_sees_the_golden_stream(case: str) -> None:
    assert _runs(case) == (GOLDEN / f"hermes-{case}.json").read_text("utf-8")


def write() -> None:
    """`python -m tests.wire.dialects.test_hermes` writes the files again; review the difference."""
    for case in GOLDEN_CASES:
        (GOLDEN / f"hermes-{case}.json").write_text(_runs(case), "utf-8")


if __name__ == "__main__":
    write()
