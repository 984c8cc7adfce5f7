"""OpenClaw: recordings of its gateway's WebSocket."""

from __future__ import annotations

import pytest

from gateway.events import Raw
from gateway.wire.dialects import Dialect
from tests.wire.dialects.golden import GOLDEN, shown
from tests.wire.dialects.openclaw_replay import FOLDER, Conversation
from tests.wire.dialects.replay import Recording, client_runs

CASES = sorted(path.stem for path in FOLDER.glob("*.jsonl") if path.stem != "ws-connect")

GOLDEN_CASES = {
    "ws-text": "text",
    "ws-thinking": "thoughts",
    "ws-tool": "words before a call, which come as an item",
    "ws-parallel": "two calls",
    "ws-permission-deny": "a question, and no",
    "ws-error": "a model's failure",
    "ws-cancel": "cancelled: an end, an error and the last answer",
    "ws-resume": "a session that came back",
    "gateway-two": "two questions at once",
    "gateway-guarded": "a question, and yes",
    "gateway-question": "a question with a form",
    "gateway-cancel-tool": "a call that was stopped, and the next turn",
    "gateway-cancel-early": "cancelled before it began",
    "gateway-mode": "a session that may only read",
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


@pytest.mark.parametrize("case", ["ws-tool", "ws-thinking", "gateway-two"])
@pytest.mark.parametrize("size", [1, 2, 5, 1000])
def test_the_events_are_the_same_however_many_messages_come_together(case: str, size: int) -> None:
    whole, messages = RECORDINGS[case]()
    parts, _ = RECORDINGS[case]()
    batches = [messages[at : at + size] for at in range(0, len(messages), size)]
    assert [event for batch in batches for event in parts.read(batch)] == whole.read(messages)


def test_the_connection_is_accepted() -> None:
    conversation = Conversation("ws-connect").play()
    assert conversation.dialect.failure is None
    assert conversation.dialect.handshake_layer == {"identity.version": "2026.9.6"}


@pytest.mark.parametrize("case", GOLDEN_CASES)
def test_a_client_sees_the_golden_stream(case: str) -> None:
    assert _runs(case) == (GOLDEN / f"openclaw-{case}.json").read_text("utf-8")


def write() -> None:
    """`python -m tests.wire.dialects.test_openclaw` writes the files again; review the difference."""
    for case in GOLDEN_CASES:
        (GOLDEN / f"openclaw-{case}.json").write_text(_runs(case), "utf-8")


if __name__ == "__main__":
    write()
