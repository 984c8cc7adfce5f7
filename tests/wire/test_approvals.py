"""Approval requests: the schema that a client gets, and the one rule that only a clear yes is a yes."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from gateway.turn import Answer
from gateway.wire.approvals import (
    ALLOW_ALWAYS,
    ALLOW_ONCE,
    REJECT_ALWAYS,
    REJECT_ONCE,
    Approval,
    Decision,
    Option,
)
from tests.agui.streams import VALUES, steady

ONCE = Option("once", "Allow once", ALLOW_ONCE)
ALWAYS = Option("always", "Always allow", ALLOW_ALWAYS)
REJECT = Option("reject", "Reject", REJECT_ONCE)
NEVER = Option("never", "Never", REJECT_ALWAYS)
UNKNOWN = Option("other", None, "allow_on_tuesdays")
EDITS = {"type": "object", "title": "Changed arguments"}
FEEDBACK = {"type": "string", "title": "Feedback"}

FULL = Approval((ONCE, ALWAYS, UNKNOWN, REJECT, NEVER))
EDITABLE = Approval((ONCE, REJECT), edits=EDITS, feedback=FEEDBACK)
YES_OR_NO = Approval()
APPROVALS = [FULL, EDITABLE, YES_OR_NO]

EVERY_TYPE: list[Any] = [
    None, True, False, 0, 1, -1, 1.0, 0.5, "", "true", "yes", "once", "allow_once", "Allow once", "approved",
    [], [True], ["once"], {}, {"approved": True}, {"optionId": "once"}, {"optionId": {"optionId": "once"}},
]  # fmt: skip
"""Each type of JSON, and values that look like a yes."""
ABSENT = object()


def resolved(payload: Any) -> Answer:
    return Answer("i", "resolved", payload)


def payload_of(**fields: Any) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value is not ABSENT}


def is_clear_yes(approval: Approval, payload: Any) -> bool:
    """The rule in its longest form, written apart from the code under test."""
    if not isinstance(payload, dict):
        return False
    if "editedArgs" in payload and (approval.edits is None or type(payload["editedArgs"]) is not dict):
        return False
    if "optionId" in payload:
        option_id = payload["optionId"]
        allowing = [option.id for option in approval.options if option.kind in (ALLOW_ONCE, ALLOW_ALWAYS)]
        if type(option_id) is not str or option_id not in allowing:
            return False
        return "approved" not in payload or payload["approved"] is True
    return payload.get("approved", False) is True


# -- the rule


@pytest.mark.parametrize("approval", APPROVALS, ids=["full", "editable", "yes-or-no"])
def test_no_value_of_any_type_in_any_place_becomes_a_yes_by_accident(approval: Approval) -> None:
    for payload in EVERY_TYPE:
        assert approval.decide(resolved(payload)).is_allowed is is_clear_yes(approval, payload), payload
    values = [ABSENT, *EVERY_TYPE]
    for option_id, approved, edited in product(values, values, values):
        payload = payload_of(optionId=option_id, approved=approved, editedArgs=edited)
        decision = approval.decide(resolved(payload))
        assert decision.is_allowed is is_clear_yes(approval, payload), payload
        assert not (decision.is_allowed and decision.is_rejected)
        assert decision.is_allowed or decision.edited_args is None


@steady
@given(st.sampled_from(APPROVALS), VALUES, VALUES, VALUES, VALUES)
def test_any_answer_is_read_without_an_exception(
    approval: Approval, option_id: Any, approved: Any, edited: Any, payload: Any
) -> None:
    fields = {"optionId": option_id, "approved": approved, "editedArgs": edited, "feedback": payload}
    for answer in (payload, fields, {"approved": approved}, {"optionId": option_id}):
        decision = approval.decide(resolved(answer))
        assert decision.is_allowed is is_clear_yes(approval, answer)


@pytest.mark.parametrize("approval", APPROVALS, ids=["full", "editable", "yes-or-no"])
def test_a_cancelled_answer_approves_of_nothing_whatever_it_carries(approval: Approval) -> None:
    for payload in ({"approved": True}, {"optionId": "once"}, True, None):
        assert approval.decide(Answer("i", "cancelled", payload)) == Decision(is_cancelled=True)


def test_a_status_from_elsewhere_is_no_yes() -> None:
    status: Any = "done"
    assert FULL.decide(Answer("i", status, {"approved": True})) == Decision(is_cancelled=True)


def test_an_option_of_an_unknown_kind_is_sent_but_is_no_yes() -> None:
    assert FULL.decide(resolved({"optionId": "other"})) == Decision(option=UNKNOWN)


def test_an_option_of_another_request_is_no_answer() -> None:
    assert EDITABLE.decide(resolved({"optionId": "always", "approved": True})) == Decision()


def test_an_option_and_a_plain_answer_that_contradict_each_other_are_no_yes() -> None:
    assert FULL.decide(resolved({"optionId": "once", "approved": False})) == Decision(is_rejected=True)
    assert FULL.decide(resolved({"optionId": "once", "approved": None})) == Decision()
    assert FULL.decide(resolved({"optionId": "reject", "approved": True})) == Decision(is_rejected=True, option=REJECT)


# -- what is decided


@pytest.mark.parametrize("option", [ONCE, ALWAYS])
def test_an_allowing_option_that_is_named_is_allowed(option: Option) -> None:
    assert FULL.decide(resolved({"optionId": option.id})) == Decision(is_allowed=True, option=option)


@pytest.mark.parametrize("option", [REJECT, NEVER])
def test_a_rejecting_option_that_is_named_is_rejected(option: Option) -> None:
    assert FULL.decide(resolved({"optionId": option.id})) == Decision(is_rejected=True, option=option)


def test_a_plain_yes_allows_once_and_a_plain_no_rejects_once() -> None:
    assert FULL.decide(resolved({"approved": True})) == Decision(is_allowed=True, option=ONCE)
    assert FULL.decide(resolved({"approved": False})) == Decision(is_rejected=True, option=REJECT)


def test_a_plain_yes_means_always_only_if_that_is_the_one_way_to_allow() -> None:
    other = Option("for ever", None, ALLOW_ALWAYS)
    assert Approval((ALWAYS, REJECT)).decide(resolved({"approved": True})).option == ALWAYS
    assert Approval((ALWAYS, other, REJECT)).decide(resolved({"approved": True})) == Decision()


def test_a_plain_answer_means_the_options_that_a_dialect_names() -> None:
    approval = Approval((ALWAYS, ONCE, NEVER, REJECT), plain_allow=("missing", "always"), plain_reject=("never",))
    assert approval.decide(resolved({"approved": True})).option == ALWAYS
    assert approval.decide(resolved({"approved": False})).option == NEVER
    strict = Approval((ALWAYS, REJECT), plain_allow=("once",))
    assert strict.decide(resolved({"approved": True})) == Decision()


def test_an_agent_may_take_a_plain_yes_that_names_no_option() -> None:
    approval = Approval((UNKNOWN,), plain_allow=(), allows_without_option=True)
    assert approval.decide(resolved({"approved": True})) == Decision(is_allowed=True)


def test_without_options_a_plain_answer_is_enough() -> None:
    assert YES_OR_NO.decide(resolved({"approved": True})) == Decision(is_allowed=True)
    assert YES_OR_NO.decide(resolved({"approved": False})) == Decision(is_rejected=True)


def test_changed_arguments_are_a_no_where_the_agent_cannot_run_them() -> None:
    edited = {"approved": True, "editedArgs": {"command": "ls"}}
    assert FULL.decide(resolved(edited)) == Decision(is_rejected=True, option=REJECT)
    assert EDITABLE.decide(resolved(edited)) == Decision(True, option=ONCE, edited_args={"command": "ls"})
    assert EDITABLE.decide(resolved({"optionId": "once", "editedArgs": {}})).edited_args == {}
    assert EDITABLE.decide(resolved({"approved": True, "editedArgs": None})).is_rejected


def test_the_users_text_goes_with_every_decision() -> None:
    named = Approval((ONCE, REJECT), feedback=FEEDBACK)
    for payload in ({"approved": True}, {"approved": False}, {"optionId": "reject"}, {"optionId": "?"}, {}):
        assert named.decide(resolved({**payload, "feedback": "use blue"})).feedback == "use blue"
        assert named.decide(resolved({**payload, "feedback": ["use blue"], "message": "x"})).feedback is None


# -- policies


def test_a_policy_decides_as_a_plain_answer_does_and_prompt_decides_nothing() -> None:
    for approval in APPROVALS:
        assert approval.decide_by_policy("prompt") is None
        assert approval.decide_by_policy("auto") == approval.decide(resolved({"approved": True}))
        assert approval.decide_by_policy("deny") == approval.decide(resolved({"approved": False}))


# -- the schema


def test_the_schema_of_options_takes_an_option_or_a_plain_answer() -> None:
    assert Approval((ONCE, UNKNOWN)).response_schema() == {
        "type": "object",
        "properties": {
            "optionId": {
                "type": "string",
                "enum": ["once", "other"],
                "oneOf": [{"const": "once", "title": "Allow once"}, {"const": "other", "title": "other"}],
            },
            "approved": {
                "type": "boolean",
                "title": "Approve",
                "description": "A plain yes or no, instead of an option.",
            },
        },
        "anyOf": [{"required": ["optionId"]}, {"required": ["approved"]}],
        "not": {"required": ["editedArgs"]},
    }


def test_the_schema_of_a_yes_or_no_question_requires_it() -> None:
    schema = YES_OR_NO.response_schema(approved_description=None)
    approved = {"type": "boolean", "title": "Approve"}
    assert schema == {"type": "object", "properties": {"approved": approved}, "required": ["approved"]}


def test_the_schema_has_fields_for_what_else_an_answer_may_carry() -> None:
    schema = EDITABLE.response_schema(has_titles=False)
    assert list(schema["properties"]) == ["optionId", "approved", "feedback", "editedArgs"]
    assert schema["properties"]["optionId"] == {"type": "string", "enum": ["once", "reject"]}
    assert (schema["properties"]["feedback"], schema["properties"]["editedArgs"]) == (FEEDBACK, EDITS)
    assert "not" not in schema
    assert "not" not in FULL.response_schema(forbids_edits=False)


@pytest.mark.parametrize("approval", APPROVALS, ids=["full", "editable", "yes-or-no"])
def test_every_clear_yes_or_no_fits_the_schema(approval: Approval) -> None:
    validator = Draft202012Validator(approval.response_schema())
    answers = [{"approved": True}, {"approved": False}, *({"optionId": option.id} for option in approval.options)]
    for payload in answers:
        validator.validate(payload)
    for payload in ({}, {"optionId": "?"}, {"approved": "yes"}):
        assert not validator.is_valid(payload)


def test_options_are_shown_without_what_they_lack() -> None:
    assert Approval((ONCE, Option("x"))).options_json() == [
        {"optionId": "once", "name": "Allow once", "kind": "allow_once"},
        {"optionId": "x"},
    ]
