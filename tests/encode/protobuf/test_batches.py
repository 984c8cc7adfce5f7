"""A batch of deltas as protobuf: whatever it is made of, the same bytes as one event at a time."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gateway.encode.protobuf.encoder import MIN_UNIFORM_BATCH, encode_frame, encode_frames

IDS = ("m1", "m2", "x" * 300, "")
KINDS = {"TEXT_MESSAGE_CONTENT": "messageId", "REASONING_MESSAGE_CONTENT": "messageId", "TOOL_CALL_ARGS": "toolCallId"}


def delta(kind: str, entity_id: str, text: str, subagent: str | None = None) -> dict[str, Any]:
    event = {"type": kind, KINDS[kind]: entity_id, "delta": text}
    return event if subagent is None else {**event, "subagentRunId": subagent}


UNIFORM = st.builds(
    lambda kind, entity_id, texts: [delta(kind, entity_id, text) for text in texts],
    st.sampled_from(sorted(KINDS)),
    st.sampled_from(IDS),
    st.lists(
        st.text(max_size=4) | st.text("ab", min_size=1, max_size=300),
        min_size=MIN_UNIFORM_BATCH,
        max_size=3 * MIN_UNIFORM_BATCH,
    ),
)
ANY = st.builds(
    delta, st.sampled_from(sorted(KINDS)), st.sampled_from(IDS), st.text(max_size=3), st.sampled_from([None, "s"])
)
MIXED = st.lists(ANY | st.just({"type": "CUSTOM", "name": "c", "value": 1}), max_size=3 * MIN_UNIFORM_BATCH)


@given(UNIFORM | MIXED)
def test_a_batch_is_its_events_one_after_another(events: list[dict[str, Any]]) -> None:
    assert encode_frames(events) == b"".join(encode_frame(event) for event in events)
