"""A token for runs that starts programs, or approves everything by itself.

The incident: a run named a stdio MCP server, and its command ran, once by the agent and once by the gateway; or it
named a folder of skills anywhere, whose hooks ran. So every token for runs was a shell (OpenClaw's CVE-2026-25593 is
the same). A mode such as `bypassPermissions` took the person out who would have been asked.

The promise: programs need the scope `programs`, runs without questions the scope `approve`, by every way there is: the
run's options, the thread's settings, messages, WebSocket, CopilotKit, the agent's own protocol. Nothing is started
before the refusal. The operator may allow certain programs by their whole command line.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import connect

from tests.attacks.callers import write_tokens
from tests.behaviour.acp.harness import OPTIONS, Stage
from tests.support.gateway import run_input
from tests.web.problem import problem_in

Headers = dict[str, str]
ALLOWED = "allowed-server --stdio"


class Tried:
    """A gateway with an agent that takes everything, and three tokens."""

    def __init__(self, stage: Stage, headers: dict[str, Headers], canary: Path) -> None:
        self.stage, self.headers, self.canary = stage, headers, canary

    def run(self, who: str, **options: Any) -> Any:
        body = run_input("hello", forwardedProps={"gateway": options})
        return self.stage.client.post("/agents/plain", json=body, headers=self.headers[who])


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tried]:
    home = tmp_path_factory.mktemp("programs")
    headers = write_tokens(
        home / "tokens.json",
        user={},
        approver={"scopes": frozenset({"read", "run", "approve"})},
        starter={"scopes": frozenset({"read", "run", "programs"})},
        boss={"scopes": frozenset({"read", "run", "admin"})},
    )
    stage = Stage(home / "stage", "--token-file", str(home / "tokens.json"), allow_programs=ALLOWED)
    stage.agent(
        "plain",
        options=[*OPTIONS, "mcpServers", "skills"],
        auto_approve_modes=["auto"],
        auto_approve_config=["allow_all"],
        capabilities={"tools": {"client_provided": True}},
    )
    with stage:
        yield Tried(stage, headers, home / "canary")


def programs(tried: Tried) -> list[dict[str, Any]]:
    """Each an MCP server that would leave a canary."""
    shell = {"command": "/bin/sh", "args": ["-c", f"touch {tried.canary}"]}
    return [
        {"name": "x", **shell, "env": []},
        {"name": "x", "type": "stdio", **shell},
        {"name": "x", "type": "http", "url": "http://127.0.0.1:1", **shell},
        {"name": "x", "type": "other", "url": "http://127.0.0.1:1"},
        {"name": "x"},
    ]


def test_a_run_names_no_program(tried: Tried) -> None:
    for server in programs(tried):
        problem = problem_in(tried.run("user", mcpServers=[server]), 403, "SCOPE_MISSING")
        assert (problem["scope"], problem["pointer"]) == ("programs", "/forwardedProps/gateway/mcpServers")
    assert not tried.canary.exists()


def test_a_server_at_a_url_needs_no_scope(tried: Tried) -> None:
    response = tried.run("user", mcpServers=[{"name": "x", "type": "http", "url": "http://127.0.0.1:1"}])
    assert response.status_code != 403, response.text


@pytest.mark.parametrize(
    ("server", "status"),
    [
        ({"command": "allowed-server", "args": ["--stdio"]}, None),
        ({"command": "allowed-server", "args": ["--stdio", "--evil"]}, 403),
        ({"command": "allowed-server", "args": []}, 403),
        ({"command": "allowed-server --stdio", "args": []}, 403),
        ({"command": "allowed-server", "args": ["--stdio"], "env": [{"name": "LD_PRELOAD", "value": "x"}]}, 403),
        ({"command": "allowed-server", "args": "--stdio"}, 403),
    ],
)
def test_an_allowed_program_is_allowed_exactly_as_it_stands(
    tried: Tried, server: dict[str, Any], status: int | None
) -> None:
    response = tried.run("user", mcpServers=[{"name": "x", **server}])
    assert (response.status_code == 403) == (status == 403), response.text


@pytest.mark.parametrize("skill", ["/opt/skills", "../skills", "..", "~/skills", "inner/../../skills", "link"])
def test_a_run_names_no_skill_outside_the_workspace(tried: Tried, skill: str, tmp_path: Path) -> None:
    link = tried.stage.workspace / "link"
    if not link.exists():
        link.symlink_to("/")
    problem = problem_in(tried.run("user", skills=[skill]), 403, "SCOPE_MISSING")
    assert problem["scope"] == "programs"
    assert tried.run("starter", skills=[skill]).status_code != 403


@pytest.mark.parametrize("skill", ["reviews", "inner/skill"])
def test_a_skill_of_the_workspace_needs_no_scope(tried: Tried, skill: str) -> None:
    assert tried.run("user", skills=[skill]).status_code != 403


@pytest.mark.parametrize("options", [{"approvals": "auto"}, {"mode": "auto"}])
def test_no_run_approves_for_its_user(tried: Tried, options: dict[str, str]) -> None:
    for who in ("user", "starter", "boss"):
        assert problem_in(tried.run(who, **options), 403, "SCOPE_MISSING")["scope"] == "approve"
    response = tried.run("approver", **options)
    assert response.status_code == 200, response.text


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("mode", {"mode": "auto"}),
        ("config", {"id": "mode", "value": "auto"}),
        ("config", {"id": "allow_all", "value": True}),
        ("acp", {"method": "session/set_mode", "params": {"modeId": "auto"}}),
        ("acp", {"method": "session/set_config_option", "params": {"configId": "allow_all", "value": True}}),
        ("acp", {"method": "_x", "params": {"inner": [{"mode": "auto"}]}}),
    ],
)
def test_no_setting_approves_for_its_user(tried: Tried, path: str, body: dict[str, Any]) -> None:
    client = tried.stage.client
    thread = f"/agents/plain/threads/t/{path}"
    assert problem_in(client.post(thread, json=body, headers=tried.headers["boss"]), 403, "SCOPE_MISSING")


def test_no_message_names_a_program_or_approves(tried: Tried) -> None:
    for options in ({"approvals": "auto"}, {"mcpServers": programs(tried)[:1]}):
        body = {
            "message": {"role": "user", "content": "hello"},
            "delivery": "on-idle",
            "forwardedProps": {"gateway": options},
        }
        response = tried.stage.client.post(
            "/agents/plain/threads/posted/messages", json=body, headers=tried.headers["user"]
        )
        problem_in(response, 403, "SCOPE_MISSING")


def test_no_websocket_names_a_program_or_approves(tried: Tried) -> None:
    url = tried.stage.url.replace("http", "ws") + "/agents/plain/socket"
    with connect(url, additional_headers=tried.headers["user"]) as socket:
        for options in ({"approvals": "auto"}, {"mcpServers": programs(tried)[:1]}):
            body = run_input("hello", protocolVersion="1.0", forwardedProps={"gateway": options})
            socket.send(json.dumps({"type": "run", "input": body}))
            assert json.loads(socket.recv(timeout=30))["problem"]["code"] == "SCOPE_MISSING"
    assert not tried.canary.exists()


def test_copilotkit_names_no_program_and_approves_nothing(tried: Tried) -> None:
    for options in ({"approvals": "auto"}, {"mcpServers": programs(tried)[:1]}):
        body = run_input("hello", forwardedProps={"gateway": options})
        response = tried.stage.client.post("/copilotkit/agent/plain/run", json=body, headers=tried.headers["user"])
        problem_in(response, 403, "SCOPE_MISSING")
    assert not tried.canary.exists()
