"""Installing agents and plugins: seen before it is run, off by default, for administrators, verified by a probe."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.behaviour.acp.harness import Stage
from tests.web.problem import problem_in

PLUGINS = "plugins of late: $*"


def write_agent(stage: Stage, home: Path, fails: bool = False) -> Path:
    """Its install command writes its program: a script that starts the fake agent. Its plugin commands note what they
    get."""
    program = home / "bin" / "late"
    run = stage.command("late", "--full")
    exports = " ".join(f"{name}='{value}'" for name, value in run["env"].items())
    script = home / "script"
    line = " ".join(f"'{part}'" for part in run["run"])
    notes = home / "notes"
    text = f'#!/bin/sh\nif [ "$1" = plugins ]; then echo "{PLUGINS}" | tee -a {notes}; exit; fi\n'
    script.write_text(f"{text}exec env {exports} {line}\n", "utf-8")
    install = "exit 3" if fails else f"echo fetching; mkdir -p {program.parent}; install -m 755 {script} {program}"
    (stage.agents / "late.toml").write_text(
        f"""id = "late"
driver = "acp"
identity = {{ name = "Late" }}
[command]
run = ["{program}"]
[[install]]
kind = "shell"
package = "{install}"
notes = "It is small."
[manifest]
supports_plugins = true
plugin_list_cmd = "{program} plugins list"
plugin_install_cmd = "{program} plugins add"
plugin_uninstall_cmd = "{program} plugins remove"
""",
        "utf-8",
    )
    return program


def events_in(response: httpx.Response) -> list[dict[str, Any]]:
    assert response.headers["content-type"].startswith("text/event-stream"), response.text
    return [json.loads(line[6:]) for line in response.text.splitlines() if line.startswith("data: ")]


def test_an_agent_is_installed_by_the_command_that_was_shown_and_verified(tmp_path: Path) -> None:
    """agent-mux `install`."""
    stage = Stage(tmp_path, allow_install="true")
    program = write_agent(stage, tmp_path)
    with stage:
        plan = stage.client.get("/agents/late/install").json()
        assert plan["allowed"] is True and plan["notes"] == "It is small." and "fetching" in plan["command"]
        for confirmed in (None, "rm -rf /"):
            problem = problem_in(
                stage.client.post("/agents/late/install", json={"command": confirmed}), 409, "COMMAND_NOT_CONFIRMED"
            )
            assert problem["command"] == plan["command"] and not program.exists()
        events = events_in(stage.client.post("/agents/late/install", json={"command": plan["command"]}))
        assert [event["type"] for event in events] == ["command", "output", "end"]
        assert events[1]["text"] == "fetching\n"
        assert (events[2]["code"], events[2]["availability"]["status"]) == (0, "ready")
        assert stage.client.get("/agents/late").json()["availability"]["status"] == "ready"
        assert stage.received("late", method="initialize"), "the probe started it"
        actions = [entry["action"] for entry in stage.client.get("/audit").json()["entries"]]
        assert "agent.install" in actions


def test_a_command_that_fails_says_so_and_the_agent_stays_missing(tmp_path: Path) -> None:
    stage = Stage(tmp_path, allow_install="true")
    write_agent(stage, tmp_path, fails=True)
    with stage:
        command = stage.client.get("/agents/late/install").json()["command"]
        *_, end = events_in(stage.client.post("/agents/late/install", json={"command": command}))
        assert (end["code"], end["availability"]["status"]) == (3, "not-installed")


def test_it_is_off_by_default(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    program = write_agent(stage, tmp_path)
    with stage:
        plan = stage.client.get("/agents/late/install").json()
        assert plan["allowed"] is False
        body = {"command": plan["command"]}
        problem = problem_in(stage.client.post("/agents/late/install", json=body), 403, "INSTALL_DISABLED")
        assert "allow_install" in problem["detail"] and not program.exists()
        problem_in(stage.client.get("/agents/late/plugins"), 403, "INSTALL_DISABLED")


@pytest.mark.parametrize("name", ["--force", "-rf", "a;b", "a b", "$(id)", "", "x" * 300, "a\nb"])
def test_a_name_that_could_be_an_option_or_a_command_is_refused(tmp_path: Path, name: str) -> None:
    stage = Stage(tmp_path, allow_install="true")
    write_agent(stage, tmp_path)
    with stage:
        answer = stage.client.post("/agents/late/plugins", json={"name": name, "command": "x"})
        assert answer.status_code in (400, 422), answer.text
        assert not (tmp_path / "notes").exists()


def test_plugins_are_listed_installed_and_removed_by_the_agents_own_commands(tmp_path: Path) -> None:
    """agent-mux plugin operations: list, install, uninstall, and search where there is a command for it."""
    stage = Stage(tmp_path, allow_install="true")
    program = write_agent(stage, tmp_path)
    program.parent.mkdir()
    program.write_bytes((tmp_path / "script").read_bytes())
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    with stage:
        listed = stage.client.get("/agents/late/plugins").json()
        assert (listed["code"], listed["output"]) == (0, "plugins of late: plugins list\n")
        body: dict[str, Any] = {"name": "@acme/review"}
        problem = problem_in(stage.client.post("/agents/late/plugins", json=body), 409, "COMMAND_NOT_CONFIRMED")
        body["command"] = problem["command"]
        assert [event["type"] for event in events_in(stage.client.post("/agents/late/plugins", json=body))][-1] == "end"
        removal = {"name": "@acme/review", "command": f"{program} plugins remove @acme/review"}
        answer = stage.client.request("DELETE", "/agents/late/plugins", json=removal)
        assert events_in(answer)[-1] == {"type": "end", "code": 0}
        notes = (tmp_path / "notes").read_text("utf-8").splitlines()
        assert notes[1:] == [
            "plugins of late: plugins add @acme/review",
            "plugins of late: plugins remove @acme/review",
        ]
        problem = problem_in(stage.client.get("/agents/late/plugins?search=x"), 422, "CAPABILITY_ERROR")
        assert "It has: list, install, uninstall" in problem["detail"] and problem["agent"] == "late"
