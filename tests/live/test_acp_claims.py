"""What the files of ACP agents claim, tried with the real programs: media that reach the model, client tools in every
thread, commands that end with a cancelled run, forks, failures of the model.
"""

from __future__ import annotations

import json
import time
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.drivers.process_watch import until
from tests.fakes.model_server.server import ModelServer
from tests.live.harness import bundled_behind_gateway
from tests.live.scenarios import PIXEL, in_order, yes
from tests.live.test_client_tools import CARD
from tests.support.gateway import Gateway, events_of, run_input, text_of

AGENTS = ("goose", "kimi-code", "grok", "mistral-vibe", "fast-agent", "cline", "crow-cli", "openhands", "qwen-code")
TAKE_TOOLS = ("goose", "kimi-code", "grok", "fast-agent", "openhands")
HAVE_SHELL = ("goose", "kimi-code", "grok", "mistral-vibe", "fast-agent", "openhands")
PDF = b64encode(b"%PDF-1.4\n1 0 obj <</Type/Catalog>> endobj\nPDFMARKER %%EOF").decode()
NOTE = b64encode(b"FILEMARKER text").decode()
MEDIA: dict[str, tuple[dict[str, Any], str]] = {
    "image": ({"type": "image", "source": {"type": "data", "value": PIXEL, "mimeType": "image/png"}}, PIXEL[:40]),
    "pdf": ({"type": "document", "source": {"type": "data", "value": PDF, "mimeType": "application/pdf"}}, PDF[:40]),
    "file": ({"type": "document", "source": {"type": "data", "value": NOTE, "mimeType": "text/plain"}}, "FILEMARKER"),
}
SAVED = {("openhands", "pdf")}
"""It saves the document into a file, and its model gets the path."""
JOIN_MESSAGES = {"goose": "it gives its model the cancelled message and the next one as one message"}
"""Agent → why the scripted model, which answers the newest message, calls for the cancelled command once more."""
WAIT_SECONDS = 150.0
"""openhands needs up to a minute to start on a busy machine."""

pytestmark = [pytest.mark.live, pytest.mark.thorough]


@pytest.fixture(scope="module")
def models() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


def warnings(events: list[dict[str, Any]]) -> list[str]:
    named = [event for event in events if event["type"] == "CUSTOM" and event["name"] == "gateway.warning"]
    return [event["value"]["code"] for event in named]


def run(gateway: Gateway, agent: str, **fields: Any) -> list[dict[str, Any]]:
    gateway.client.timeout = WAIT_SECONDS
    events = events_of(gateway.post(agent, run_input(**fields)).text)
    in_order(events)
    return events


def user(content: Any) -> list[dict[str, Any]]:
    return [{"id": f"u{time.monotonic_ns()}", "role": "user", "content": content}]


@pytest.mark.parametrize("agent", AGENTS)
def test_a_medium_is_claimed_where_its_bytes_reach_the_model_and_dropped_with_a_warning_elsewhere(
    agent: str, models: ModelServer, tmp_path: Path
) -> None:
    with bundled_behind_gateway(agent, models.url, tmp_path) as gateway:
        gateway.client.timeout = WAIT_SECONDS
        found = gateway.client.get(f"/agents/{agent}/capabilities", params={"probe": "1"}).json()
        for kind, (part, mark) in MEDIA.items():
            models.forget()
            events = run(gateway, agent, messages=user([{"type": "text", "text": "look"}, part]))
            has_reached = mark in json.dumps([request["body"] for request in models.requests()])
            claim = found["multimodal"]["input"][kind]
            assert claim is (has_reached or (agent, kind) in SAVED), kind
            assert warnings(events) == ([] if claim else ["CONTENT_DROPPED"]), kind


@pytest.mark.parametrize("agent", TAKE_TOOLS)
def test_every_thread_may_bring_client_tools(agent: str, models: ModelServer, tmp_path: Path) -> None:
    with bundled_behind_gateway(agent, models.url, tmp_path) as gateway:
        for thread in ("first", "second"):
            said = user('CALL show_card {"title": "Tea"}')
            events = run(gateway, agent, threadId=thread, tools=[CARD], messages=said)
            while "interrupts" in (outcome := events[-1].get("outcome", {})):
                answers = [{"interruptId": one["id"], **yes(True)} for one in outcome["interrupts"]]
                events = run(gateway, agent, threadId=thread, tools=[CARD], messages=said, resume=answers)
            assert len(events[-1]["outcome"]["pendingToolCallIds"]) == 1, thread
            found = gateway.client.get(f"/agents/{agent}/capabilities", params={"thread": thread}).json()
            assert found["tools"]["clientProvided"] is True


@pytest.mark.parametrize("agent", HAVE_SHELL)
def test_a_cancelled_run_leaves_no_command_running(agent: str, models: ModelServer, tmp_path: Path) -> None:
    with bundled_behind_gateway(agent, models.url, tmp_path) as gateway:
        gateway.client.timeout = WAIT_SECONDS
        began, late = tmp_path / "work" / "began.txt", tmp_path / "work" / "late.txt"
        auto = {"gateway": {"approvals": "auto"}}
        body = run_input(f"SHELL touch {began}; sleep 8; touch {late}", forwardedProps=auto)
        with gateway.client.stream("POST", f"/agents/{agent}", json=body) as response:
            lines = (line for line in response.iter_lines() if line.startswith("data: "))
            events = (json.loads(line[6:]) for line in lines)
            next(event for event in events if event["type"] == "TOOL_CALL_START")
            until(began.exists)
            started = time.monotonic()
            gateway.client.post(f"/runs/{body['runId']}/cancel")
            assert list(events)[-1]["outcome"]["type"] == "cancelled"
        until(lambda: time.monotonic() - started > 10)
        assert not late.exists()
        again = run(gateway, agent, threadId=body["threadId"], messages=user("hello again"), forwardedProps=auto)
        assert again[-1]["type"] == "RUN_FINISHED", "the session takes the next turn"
        if agent not in JOIN_MESSAGES:
            assert text_of(again) == "You said: hello again"


@pytest.mark.parametrize("agent", ["kimi-code", "mistral-vibe"])
def test_a_forked_thread_answers_once_and_knows_the_conversation(
    agent: str, models: ModelServer, tmp_path: Path
) -> None:
    with bundled_behind_gateway(agent, models.url, tmp_path) as gateway:
        run(gateway, agent, threadId="parent", messages=user("my fruit is PAPAYA"))
        fork = gateway.client.post(f"/agents/{agent}/threads/parent/fork", json={}).json()["threadId"]
        assert text_of(run(gateway, agent, threadId=fork, messages=user("what fruit"))) == "You said: what fruit"
        assert "PAPAYA" in json.dumps(models.requests()[-1]["body"])
        assert text_of(run(gateway, agent, threadId="parent", messages=user("still you"))) == "You said: still you"


def test_crow_cli_is_offered_no_fork(models: ModelServer, tmp_path: Path) -> None:
    with bundled_behind_gateway("crow-cli", models.url, tmp_path) as gateway:
        run(gateway, "crow-cli", threadId="parent", messages=user("hello"))
        refusal = gateway.client.post("/agents/crow-cli/threads/parent/fork", json={})
        assert refusal.status_code == 422
        view = gateway.client.get("/agents/crow-cli/capabilities", params={"view": "acp"}).json()
        assert view["forkSession"] is False


@pytest.mark.parametrize("agent", ["goose", "grok", "mistral-vibe", "fast-agent"])
def test_a_failure_of_the_model_is_an_error_of_the_run(agent: str, models: ModelServer, tmp_path: Path) -> None:
    with bundled_behind_gateway(agent, models.url, tmp_path) as gateway:
        last = run(gateway, agent, messages=user("ERROR 400"))[-1]
        assert last["type"] == "RUN_ERROR"
        assert "the script wants status 400" in last["message"]


def test_grok_a_plain_turn_has_no_raw_event(models: ModelServer, tmp_path: Path) -> None:
    with bundled_behind_gateway("grok", models.url, tmp_path) as gateway:
        assert not [event for event in run(gateway, "grok", messages=user("hello")) if event["type"] == "RAW"]
