from __future__ import annotations

from gateway.agui.attribution import Attribution, nulls, tagged
from gateway.events import Wire


def test_a_tag_of_the_parent_agent_is_left_out() -> None:
    assert tagged({"type": "RAW"}, None) == {"type": "RAW"}
    assert tagged({"type": "RAW"}, "") == {"type": "RAW", "subagentRunId": ""}, "an empty id is an id"


def test_each_kind_of_thing_has_its_own_ids() -> None:
    book = Attribution()
    messages: list[Wire] = [
        {"id": "x", "role": "assistant", "subagentRunId": "s1", "toolCalls": [{"id": "x"}]},
        {"id": "x", "role": "reasoning", "subagentRunId": "s2"},
        {"id": "x", "role": "activity"},
    ]
    book.snapshot({"type": "MESSAGES_SNAPSHOT", "messages": messages})
    assert book.messages == {"x": "s1"}
    assert book.calls == {"x": "s1"}, "a call has the owner of its message"
    assert book.reasoning == {"x": "s2"}
    assert book.activities == {"x": None}


def test_a_snapshot_overwrites_and_an_input_only_adds() -> None:
    book = Attribution()
    book.messages["m"] = "s1"
    known, new = {"id": "m", "role": "user", "subagentRunId": "s2"}, {"id": "n", "role": "user"}
    book.echo({"type": "RUN_STARTED", "input": {"messages": [known, new]}})
    assert book.messages == {"m": "s1", "n": None}
    book.snapshot({"type": "MESSAGES_SNAPSHOT", "messages": [known]})
    assert book.messages == {"m": "s2", "n": None}


def test_a_call_inherits_from_its_message_unless_it_is_tagged_or_known() -> None:
    book = Attribution()
    book.messages["m"] = "s1"
    book.call({"toolCallId": "a", "parentMessageId": "m"})
    book.call({"toolCallId": "b", "parentMessageId": "m", "subagentRunId": "s2"})
    book.call({"toolCallId": "c", "parentMessageId": "unknown"})
    book.call({"toolCallId": "a", "subagentRunId": "s3"})
    assert book.calls == {"a": "s1", "b": "s2", "c": None}


def test_a_call_without_a_message_does_not_inherit_from_the_message_without_a_name() -> None:
    book = Attribution()
    book.messages[""] = "s1"
    book.call({"toolCallId": "c"})
    assert book.calls == {"c": None}


def test_an_activity_that_is_kept_keeps_its_owner() -> None:
    book = Attribution()
    book.activity({"messageId": "a", "subagentRunId": "s1", "replace": False})
    book.activity({"messageId": "a", "subagentRunId": "s2", "replace": False})
    assert book.activities == {"a": "s1"}
    book.activity({"messageId": "a"})
    assert book.activities == {"a": None}


def test_the_newest_result_owns_its_message() -> None:
    book = Attribution()
    book.result({"messageId": "m", "subagentRunId": "s"})
    book.result({"messageId": "m"})
    assert book.messages == {"m": None}


def test_an_encrypted_value_looks_among_calls_texts_and_reasoning() -> None:
    book = Attribution()
    book.messages["m"] = book.reasoning["m"] = book.reasoning["r"] = "s"
    assert book.encrypted({"subtype": "tool-call", "entityId": "m"}) is book.calls
    assert book.encrypted({"subtype": "message", "entityId": "m"}) is book.messages
    assert book.encrypted({"subtype": "message", "entityId": "r"}) is book.reasoning


def test_nulls_are_found_where_only_absence_is_allowed() -> None:
    started = {"type": "SUBAGENT_STARTED", "subagentRunId": None, "description": None, "metadata": None}
    assert list(nulls(started)) == ["subagentRunId", "description"]
    assert list(nulls({"type": "CUSTOM", "name": "n", "value": None})) == []
