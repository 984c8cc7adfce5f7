"""Hermes Agent: recordings of `hermes serve` and of its stdio twin."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gateway.events import Raw
from gateway.wire.dialects import Dialect
from gateway.wire.lines import Lines
from tests.wire.dialects.golden import GOLDEN, shown
from tests.wire.dialects.hermes_replay import FOLDER, Talk
from tests.wire.dialects.replay import Recording, seen

CASES = sorted(path.stem for path in FOLDER.iterdir() if path.suffix == ".jsonl")

SHOWN = {
    "tui-text": "words",
    "tui-thinking": "thoughts",
    "tui-tool": "a call between two messages",
    "tui-parallel": "two calls",
    "tui-permission-once": "a question, and yes",
    "tui-permission-deny": "a question, and no",
    "tui-error": "a model's failure",
    "tui-cancel-tool": "a call that was stopped",
    "tui-resume": "a session that came back",
    "serve-two": "two questions, one after the other",
    "serve-clarify": "a question with a form",
    "serve-plan": "a plan",
    "serve-cancel": "cancelled, and the next turn",
    "serve-cancel-early": "cancelled before it began",
    "serve-subagent": "a subagent, and a turn that Hermes began itself",
    "serve-no-provider": "nobody is signed in",
}


def _recording(case: str) -> Recording:
    def made() -> tuple[Dialect, list[bytes]]:
        talk = Talk(case)
        messages = talk.prompted()
        return talk.dialect, messages

    return made


RECORDINGS: dict[str, Recording] = {case: _recording(case) for case in CASES}


def _runs(case: str) -> str:
    return shown(run for turn in Talk(case).play().turns for run in seen(turn))


@pytest.mark.parametrize("case", CASES)
def test_a_recording_is_a_stream_that_clients_accept(case: str) -> None:
    talk = Talk(case).play()
    assert talk.turns
    assert [seen(turn) for turn in talk.turns]


@pytest.mark.parametrize("case", CASES)
def test_nothing_in_a_recording_is_beyond_the_dialect(case: str) -> None:
    talk = Talk(case).play()
    events = [event for turn in [*talk.turns, talk.late] for event in turn]
    assert [event for event in events if isinstance(event, Raw)] == []
    raw = [event for turn in talk.turns for run in seen(turn) for event in run if event["type"] == "RAW"]
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


def test_the_session_tells_what_it_is_set_to() -> None:
    dialect = Talk("serve-write").play().dialect
    assert dialect.handshake_layer == {"identity.version": "0.19.0"}
    assert dialect.session_layer["custom.session.models.current"] == "custom:scripted-model"
    assert {"name": "terminal", "description": ""} in dialect.session_layer["tools.items"]


@pytest.mark.parametrize("case", SHOWN)
def test_a_client_sees_what_the_file_says(case: str) -> None:
    assert _runs(case) == (GOLDEN / f"hermes-{case}.json").read_text("utf-8")


def write() -> None:
    """`python -m tests.wire.dialects.test_hermes` writes the files anew; the difference is then to be looked at."""
    for case in SHOWN:
        (GOLDEN / f"hermes-{case}.json").write_text(_runs(case), "utf-8")


if __name__ == "__main__":
    write()
