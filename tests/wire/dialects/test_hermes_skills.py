"""The option `skills` with Hermes: its own skills, by name, at the head of the prompt."""

from __future__ import annotations

from gateway.events import TurnFailed
from tests.wire.dialects.hermes_live import HermesSession

LIST = ("skills.manage", {"session_id": "aa11", "action": "list"})


def test_a_skill_is_looked_up_loaded_and_put_before_the_prompt() -> None:
    session = HermesSession()
    assert session.prompt("write a note", skills=("Otter Notes",)) == [LIST]
    session.answers(skills={"general": ["Otter Notes", "herons"]})
    assert session.calls() == [
        ("command.dispatch", {"session_id": "aa11", "name": "otter-notes", "arg": ""}),
    ]
    session.answers(type="skill", name="Otter Notes", message="How to write notes.")
    [(method, params)] = session.calls()
    assert method == "prompt.submit"
    assert params["text"] == "How to write notes.\n\nwrite a note"


def test_several_skills_are_loaded_in_their_order() -> None:
    session = HermesSession()
    session.prompt("go", skills=("a", "b"))
    for name in ("a", "b"):
        session.answers(skills={"general": ["a", "b"]})
        session.answers(type="skill", name=name, message=f"skill {name}")
    [(_, params)] = session.calls()
    assert params["text"] == "skill a\n\nskill b\n\ngo"


def test_a_name_that_hermes_does_not_list_is_never_dispatched_as_a_command() -> None:
    session = HermesSession()
    session.prompt("go", skills=("deploy",))
    [failed] = session.answers(skills={"general": ["a"]})
    assert isinstance(failed, TurnFailed) and failed.code == "SKILL_NOT_FOUND"
    assert "'deploy'" in failed.message and "hermes skills list" in failed.message
    assert session.calls() == []


def test_a_command_of_the_same_name_is_no_skill() -> None:
    session = HermesSession()
    session.prompt("go", skills=("a",))
    session.answers(skills={"general": ["a"]})
    [failed] = session.answers(type="exec", output="done")
    assert isinstance(failed, TurnFailed) and failed.code == "SKILL_NOT_FOUND"
