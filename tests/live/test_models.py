"""Models of real agents, agent-mux §4 to §6 and §8: names that no file lists, effort and budget of the session's model,
lists that the agent itself states. What arrives is read from the request that the model gets."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.model_server.server import ModelServer
from tests.live.option_checks import LiveAgent, live_agent, value_at
from tests.live.selection import agents
from tests.support.gateway import events_of, run_input

pytestmark = pytest.mark.live

UNLISTED = {
    "claude": (
        "claude-sonnet-4-5-20250929",
        "us.anthropic.claude-opus-4-5-20251101-v1:0",
        "opusplan",
        "sonnet[1m]",
    ),
    "codex": ("gpt-oss:20b", "gpt-5.5-2026-01-01"),
    "gemini": ("gemini-2.5-flash-preview-09-2025",),
}
"""Agent → names that its file does not list and that the program takes."""
RESOLVED = {"opusplan": "claude-", "sonnet[1m]": "claude-sonnet"}
"""Names that the program itself replaces → how the name begins that the model's server gets."""


@pytest.fixture(scope="module")
def models() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.mark.parametrize("name", agents(UNLISTED, ("claude", "codex")))
def test_a_name_that_the_file_does_not_list_arrives_with_a_warning(
    name: str, models: ModelServer, tmp_path: Path
) -> None:
    with live_agent(name, models, tmp_path) as agent:
        for model in UNLISTED[name]:
            verdict = agent.gateway.client.post(f"/agents/{name}/models:validate", json={"model": model}).json()
            assert (verdict["valid"], verdict["status"], verdict["allowed"]) == (False, "unknown", True), verdict
            agent.new_thread()
            seen = agent.run(model=model)
            assert "MODEL_UNKNOWN" in seen.warnings, model
            begin = RESOLVED.get(model)
            if begin is None:
                arrived = seen.asked if name != "gemini" else str(models.requests())
                assert model in arrived, model
            else:
                assert seen.request["model"].startswith(begin)
                assert f"--model {model}" in "\n".join(seen.command_lines)
            assert agent.refusal(model=model, strict=True)["modelStatus"] == "unknown"


def test_the_effort_of_a_codex_thread_is_translated_for_its_model(models: ModelServer, tmp_path: Path) -> None:
    """agent-mux §5.1: a thread on gpt-5.5 and a run that names no model sends `xhigh` for `max`."""
    with live_agent("codex", models, tmp_path) as agent:
        agent.run(model="gpt-5.5")
        assert value_at(agent.snapshot, "custom.session.models.current") == "gpt-5.5"
        assert value_at(agent.run(effort="max").request, "reasoning.effort") == "xhigh"
        assert value_at(agent.run(effort="low").request, "reasoning.effort") == "low"


def test_a_budget_follows_the_model_that_a_claude_session_has(models: ModelServer, tmp_path: Path) -> None:
    """agent-mux §8.2: the default model takes no budget; a thread that is set to one that does takes it."""
    with live_agent("claude", models, tmp_path) as agent:
        problem = agent.refusal(thinkingBudgetTokens=2048)
        assert (problem["code"], problem["pointer"]) == (
            "CAPABILITY_ERROR",
            "/forwardedProps/gateway/thinkingBudgetTokens",
        )
        assert agent.refusal(thinkingBudgetTokens=2048, model="opus")["code"] == "CAPABILITY_ERROR"
        seen = agent.run(thinkingBudgetTokens=2048, model="claude-sonnet-4-5")
        assert value_at(seen.request, "thinking.budget_tokens") == 2048
        again = agent.run(thinkingBudgetTokens=3000)
        assert again.request["model"] == seen.request["model"]
        assert value_at(again.request, "thinking.budget_tokens") == 3000


def document(mime: str, data: bytes) -> dict[str, Any]:
    source = {"type": "data", "value": b64encode(data).decode(), "mimeType": mime}
    return {"type": "document", "source": source}


def attach(agent: LiveAgent, part: dict[str, Any], prompt: str) -> tuple[list[str], str]:
    """A run with an attachment: the codes of its warnings, and what the model was sent."""
    message = {"id": prompt, "role": "user", "content": [{"type": "text", "text": prompt}, part]}
    body = {**run_input(prompt, threadId=agent.thread_id), "messages": [message]}
    response = agent.gateway.client.post(f"/agents/{agent.name}", json=body, timeout=120)
    events = events_of(response.text)
    codes = [event["value"]["code"] for event in events if event.get("name") == "gateway.warning"]
    asked = [str(each["body"]) for each in agent.models.requests() if prompt in str(each["body"])]
    return codes, "\n".join(asked)


@pytest.mark.thorough
def test_opencode_offers_the_models_of_its_install_and_takes_files_after_a_refresh(
    models: ModelServer, tmp_path: Path
) -> None:
    """agent-mux §4 refresh: models that only the file lists are not offered; a text file still arrives; a PDF is left
    out for a model that reads none; a level that the model does not have is refused before the run."""
    with live_agent("opencode", models, tmp_path) as agent:
        client = agent.gateway.client
        before = client.get("/agents/opencode/models").json()
        assert before["source"] == "bundled" and len(before["models"]) > 20
        problem = agent.refusal(effort="max")
        assert problem["pointer"] == "/forwardedProps/gateway/effort", problem
        refreshed = client.post("/agents/opencode/models:refresh", timeout=120).json()
        ids = [each["modelId"] for each in refreshed["models"]]
        assert refreshed["source"] == "remote" and "anthropic/claude-opus-5-5" not in ids
        verdict = client.get("/agents/opencode/models:validate", params={"model": "anthropic/claude-opus-5-5"}).json()
        assert (verdict["valid"], verdict["allowed"]) == (False, False)
        assert agent.refusal(model="anthropic/claude-opus-5-5")["modelStatus"] == "unknown"
        codes, asked = attach(agent, document("text/plain", b"the otter is called Ottilie"), "mark-text")
        assert codes == [] and "Ottilie" in asked
        codes, asked = attach(agent, document("application/pdf", b"%PDF-1.4 secret"), "mark-pdf")
        assert codes == ["CONTENT_DROPPED"] and "application/pdf" not in asked
        effort = agent.run(effort="high")
        assert value_at(effort.request, "reasoning_effort") == "high"


@pytest.mark.thorough
def test_an_agent_over_acp_lists_its_models_before_any_session(models: ModelServer, tmp_path: Path) -> None:
    with live_agent("gemini", models, tmp_path) as agent:
        refreshed = agent.gateway.client.post("/agents/gemini/models:refresh", timeout=120).json()
        assert refreshed["source"] == "remote" and refreshed["models"]


def test_all_agents_are_asked_at_once(models: ModelServer, tmp_path: Path) -> None:
    """agent-mux §4 refreshAll: one result for each agent; a missing program has its install hint."""
    with live_agent("codex", models, tmp_path) as agent:
        results = {
            each["agent"]: each for each in agent.gateway.client.post("/models:refresh", timeout=300).json()["agents"]
        }
        assert results["codex"]["updated"] > 0
        assert results["goose"]["code"] == "AGENT_NOT_INSTALLED"
        assert "Install it: " in results["goose"]["detail"]
        problem = agent.gateway.client.post("/agents/goose/models:refresh")
        assert (problem.status_code, problem.json()["code"]) == (422, "AGENT_NOT_INSTALLED")
        assert problem.json()["availability"]["hint"]
