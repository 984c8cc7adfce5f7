"""An ACP agent's file corrects its handshake: what the agent announces and does not do, and what ACP cannot say."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.behaviour.acp.harness import ROOT, Stage, Talk, answered, warnings_of
from tests.support.gateway import Gateway, text_of

PDF = {"type": "document", "source": {"type": "data", "value": "JVBERg==", "mimeType": "application/pdf"}}
ARCHIVE = {"type": "document", "source": {"type": "data", "value": "UEsDBA==", "mimeType": "application/zip"}}
NOTE = {"type": "document", "source": {"type": "data", "value": "IyBoaQ==", "mimeType": "text/markdown"}}
PICTURE = {"type": "image", "source": {"type": "data", "value": "AAAA", "mimeType": "image/png"}}
WORDS = {"type": "text", "text": "look"}


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    stage = Stage(tmp_path_factory.mktemp("corrections"))
    stage.agent("plain").agent("first-run").agent("full", "--full")
    stage.agent("reads-pdf", capabilities={"multimodal": {"input": {"pdf": True}}})
    stage.agent("blind", "--full", capabilities={"multimodal": {"input": {"image": False}}})
    stage.agent("mixes", "--full", capabilities={"custom": {"acp": {"forkSession": False}}})
    with stage:
        yield stage


def send(stage: Stage, agent: str, *parts: dict[str, Any], **options: Any) -> tuple[Talk, Any]:
    talk = Talk(stage, agent, **options)
    message = {"id": "m", "role": "user", "content": list(parts)}
    return talk, stage.post(agent, talk.input("", messages=[message]))


def say(stage: Stage, agent: str, *parts: dict[str, Any]) -> tuple[str, list[str]]:
    """What the agent got, and the codes of the warnings."""
    talk = Talk(stage, agent)
    events = talk.say("", messages=[{"id": "m", "role": "user", "content": list(parts)}])
    return text_of(events), warnings_of(events)


def inputs(stage: Stage, agent: str) -> dict[str, Any]:
    found: dict[str, Any] = stage.asks(f"/agents/{agent}/capabilities?probe=1")["multimodal"]["input"]
    return found


def test_embedded_context_is_no_promise_of_pdf(stage: Stage) -> None:
    assert (inputs(stage, "plain")["pdf"], inputs(stage, "plain")["file"]) == (False, True)
    assert say(stage, "plain", WORDS, PDF) == ("You said: look", ["CONTENT_DROPPED"])
    assert say(stage, "plain", WORDS, NOTE) == ("You said: look\n[resource]", [])


def test_the_first_run_of_an_agent_that_never_ran_drops_it_too(stage: Stage) -> None:
    assert say(stage, "first-run", WORDS, PDF) == ("You said: look", ["CONTENT_DROPPED"])


def test_other_bytes_are_dropped_with_a_warning_by_the_driver(stage: Stage) -> None:
    inputs(stage, "plain")
    assert say(stage, "plain", WORDS, ARCHIVE) == ("You said: look", ["CONTENT_DROPPED"])


@pytest.mark.parametrize("parts", [(ARCHIVE,), (WORDS, ARCHIVE)])
def test_a_prompt_of_which_nothing_is_left_or_a_strict_one_is_refused(stage: Stage, parts: Any) -> None:
    inputs(stage, "plain")
    options = {"strict": True} if len(parts) > 1 else {}
    _, response = send(stage, "plain", *parts, **options)
    if response.status_code == 200:
        assert "CAPABILITY_ERROR" in response.text
    else:
        assert answered(response, 422)["code"] == "CAPABILITY_ERROR"


def test_a_file_may_state_that_bytes_reach_the_model(stage: Stage) -> None:
    assert inputs(stage, "reads-pdf")["pdf"] is True
    explained = stage.asks("/agents/reads-pdf/capabilities?explain=1")["explain"]
    assert explained["multimodal.input.pdf"]["layer"] == "profile"
    assert say(stage, "reads-pdf", WORDS, PDF) == ("You said: look\n[resource]", [])


def test_what_the_file_denies_is_false_whatever_the_agent_announces(stage: Stage) -> None:
    assert inputs(stage, "full")["image"] is True
    assert inputs(stage, "blind")["image"] is False
    explained = stage.asks("/agents/blind/capabilities?explain=1")["explain"]
    assert (explained["multimodal.input.image"]["layer"], explained["multimodal.input.audio"]["layer"]) == (
        "profile",
        "handshake",
    )
    assert say(stage, "blind", WORDS, PICTURE) == ("You said: look", ["CONTENT_DROPPED"])


def test_a_fork_that_the_file_denies_is_refused_with_the_file_as_its_source(stage: Stage) -> None:
    """crow-cli forks, and then sends the fork's answers to the session that was forked."""
    talk = Talk(stage, "mixes")
    talk.say("hello")
    view = stage.asks("/agents/mixes/capabilities?view=acp")
    assert (view["forkSession"], view["resumeSession"]) == (False, True)
    refusal = stage.asks(f"{talk.path}/fork", {}, status=422)
    assert (refusal["capability"], refusal["source"]) == ("custom.acp.forkSession", "profile (mixes.toml)")
    assert not stage.received("mixes", method="session/fork")


def test_the_name_in_the_file_stays_when_the_agent_tells_its_own(stage: Stage) -> None:
    before = stage.asks("/agents/plain")["identity"]["name"]
    inputs(stage, "plain")
    found = stage.asks("/agents/plain/capabilities")["identity"]
    assert (before, found["name"], found["metadata"]["acp"]["title"]) == ("plain", "plain", "Scripted")


def test_an_agent_without_a_file_has_the_name_that_it_tells(tmp_path: Path) -> None:
    command = f"{sys.executable} -S -m tests.fakes.acp_agent"
    with Gateway(tmp_path, "--acp", command, env={"PYTHONPATH": str(ROOT)}) as gateway:
        agent = Path(sys.executable).name  # an agent without a file is called like its program
        found = gateway.client.get(f"/agents/{agent}/capabilities", params={"probe": "1"}).json()
        assert found["identity"]["name"] == "Scripted"
