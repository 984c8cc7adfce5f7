from __future__ import annotations

from gateway.agui.attribution import Attribution, null_fields, tag_event
from gateway.events import Wire


def test_a_tag_of_the_parent_agent_is_left_out() -> None:
    assert tag_event({"type": "RAW"}, None) == {"type": "RAW"}
    assert tag_event({"type": "RAW"}, "") == {"type": "RAW", "subagentRunId": ""}, "an empty id is an id"


def test_each_kind_of_thing_has_its_own_ids() -> None:
    owners = Attribution()
    messages: list[Wire] = [
        {"id": "x", "role": "assistant", "subagentRunId": "s1", "toolCalls": [{"id": "x"}]},
        {"id": "x", "role": "reasoning", "subagentRunId": "s2"},
        {"id": "x", "role": "activity"},
    ]
    owners.add_snapshot({"type": "MESSAGES_SNAPSHOT", "messages": messages})
    assert owners.messages == {"x": "s1"}
    assert owners.calls == {"x": "s1"}, "a call has the owner of its message"
    assert owners.reasoning == {"x": "s2"}
    assert owners.activities == {"x": None}


def test_a_snapshot_overwrites_and_an_input_only_adds() -> None:
    owners = Attribution()
    owners.messages["m"] = "s1"
    known, new = {"id": "m", "role": "user", "subagentRunId": "s2"}, {"id": "n", "role": "user"}
    owners.add_input({"type": "RUN_STARTED", "input": {"messages": [known, new]}})
    assert owners.messages == {"m": "s1", "n": None}
    owners.add_snapshot({"type": "MESSAGES_SNAPSHOT", "messages": [known]})
    assert owners.messages == {"m": "s2", "n": None}


def test_a_call_inherits_from_its_message_unless_it_is_tagged_or_known() -> None:
    owners = Attribution()
    owners.messages["m"] = "s1"
    owners.add_call({"toolCallId": "a", "parentMessageId": "m"})
    owners.add_call({"toolCallId": "b", "parentMessageId": "m", "subagentRunId": "s2"})
    owners.add_call({"toolCallId": "c", "parentMessageId": "unknown"})
    owners.add_call({"toolCallId": "a", "subagentRunId": "s3"})
    assert owners.calls == {"a": "s1", "b": "s2", "c": None}


def test_a_call_without_a_message_does_not_inherit_from_the_message_without_a_name() -> None:
    owners = Attribution()
    owners.messages[""] = "s1"
    owners.add_call({"toolCallId": "c"})
    assert owners.calls == {"c": None}


def test_an_activity_that_is_kept_keeps_its_owner() -> None:
    owners = Attribution()
    owners.add_activity({"messageId": "a", "subagentRunId": "s1", "replace": False})
    owners.add_activity({"messageId": "a", "subagentRunId": "s2", "replace": False})
    assert owners.activities == {"a": "s1"}
    owners.add_activity({"messageId": "a"})
    assert owners.activities == {"a": None}


def test_the_newest_result_owns_its_message() -> None:
    owners = Attribution()
    owners.add_result({"messageId": "m", "subagentRunId": "s"})
    owners.add_result({"messageId": "m"})
    assert owners.messages == {"m": None}


def test_an_encrypted_value_looks_among_calls_texts_and_reasoning() -> None:
    owners = Attribution()
    owners.messages["m"] = owners.reasoning["m"] = owners.reasoning["r"] = "s"
    assert owners.owners_of_encrypted({"subtype": "tool-call", "entityId": "m"}) is owners.calls
    assert owners.owners_of_encrypted({"subtype": "message", "entityId": "m"}) is owners.messages
    assert owners.owners_of_encrypted({"subtype": "message", "entityId": "r"}) is owners.reasoning


def test_nulls_are_found_where_only_absence_is_allowed() -> None:
    started = {"type": "SUBAGENT_STARTED", "subagentRunId": None, "description": None, "metadata": None}
    assert list(null_fields(started)) == ["subagentRunId", "description"]
    assert list(null_fields({"type": "CUSTOM", "name": "n", "value": None})) == []
