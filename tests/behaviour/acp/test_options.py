"""What a run may ask for, with agents of few lines: it follows from the handshake and the session."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.behaviour.acp.harness import Stage, Talk, outcome_of, warnings_of
from tests.drivers.process_watch import alive
from tests.runs.harness import eventually
from tests.support.gateway import run_input, text_of
from tests.web.problem import problem_in

HTTP = {"type": "http", "name": "web", "url": "http://127.0.0.1:9/mcp", "headers": []}


@pytest.fixture
def bare(tmp_path: Path) -> Stage:
    """An agent that never ran, with a file of five lines."""
    stage = Stage(tmp_path, allow_private_addresses="true")
    write(stage, "bare", "--bare")
    write(stage, "full", "--full")
    return stage


def write(stage: Stage, name: str, *flags: str, more: str = "") -> None:
    run = stage.command(name, *flags)
    lines = [f'id = "{name}"', 'driver = "acp"', more, f'identity = {{ name = "{name}" }}', "[command]"]
    lines += [f"run = {run['run']!r}", "env = { " + ", ".join(f'{k} = "{v}"' for k, v in run["env"].items()) + " }"]
    (stage.agents / f"{name}.toml").write_text("\n".join(lines), "utf-8")


def offered(stage: Stage, agent: str, **query: str) -> dict[str, Any]:
    tree = stage.client.get(f"/agents/{agent}/capabilities", params=query).json()
    found: dict[str, Any] = tree["custom"]["gateway"]["options"]
    return found


def refused(stage: Stage, agent: str, **options: Any) -> dict[str, Any]:
    body = run_input("hello", forwardedProps={"gateway": options})
    return problem_in(stage.client.post(f"/agents/{agent}", json=body), 422, "CAPABILITY_ERROR")


def test_a_short_file_offers_what_the_handshake_states(bare: Stage) -> None:
    with bare as stage:
        before = offered(stage, "full")
        assert "sessionId" not in before and "mcpServers" not in before, "nothing is known before the handshake"
        after = offered(stage, "full", probe="1")
        assert (after["sessionId"], after["forkSessionId"], after["additionalDirectories"]) == (True, True, True)
        assert after["mcpServers"] == {"transports": ["stdio", "http", "sse"]}
        assert after["outputSchema"] is False and after["maxTurns"] is False
        none = offered(stage, "bare", probe="1")
        assert (none["sessionId"], none["forkSessionId"], none["additionalDirectories"]) == (False, False, False)
        talk = Talk(stage, "full")
        talk.say("hello")
        in_session = offered(stage, "full", thread=talk.path.rpartition("/")[2])
        assert [mode["id"] for mode in in_session["mode"]["values"]]


@pytest.mark.parametrize(
    ("option", "value"),
    [("sessionId", "s-1"), ("forkSessionId", "s-1"), ("mcpServers", [HTTP])],
    ids=lambda x: str(x)[:12],
)
def test_the_first_run_of_an_agent_is_refused_like_every_later_one(bare: Stage, option: str, value: Any) -> None:
    with bare as stage:
        problem = refused(stage, "bare", **{option: value})
        assert problem["code"] == "CAPABILITY_ERROR" and problem["agent"] == "bare"
        assert problem["source"].startswith("handshake") and problem["pointer"].startswith("/forwardedProps/gateway/")
        assert stage.received("bare", method="session/new") == []


def test_directories_that_the_agent_does_not_take_are_dropped_once_and_strict_refuses(bare: Stage) -> None:
    with bare as stage:
        (stage.workspace / "other").mkdir()
        options = {"additionalDirectories": ["other"]}
        talk = Talk(stage, "bare", **options)
        assert warnings_of(talk.say("hello")) == ["DIRECTORIES_DROPPED"]
        assert warnings_of(talk.say("again")) == []
        problem = refused(stage, "bare", **options, strict=True)
        assert problem["capability"] == "custom.gateway.options.additionalDirectories"


def test_streaming_is_never_refused_when_it_may_fall_back(bare: Stage) -> None:
    with bare as stage:
        for stream in (True, "auto"):
            events = Talk(stage, "bare", stream=stream).say("hello")
            assert outcome_of(events) == "success", stream


def test_a_session_that_the_agent_does_not_have_is_an_error(bare: Stage) -> None:
    with bare as stage:
        events = Talk(stage, "full", sessionId="nobody-has-this").say("hello")
        assert outcome_of(events) == "SESSION_NOT_FOUND"
        assert stage.received("full", method="session/new") == []


def test_idle_sessions_are_bounded_in_number_the_oldest_goes_first(tmp_path: Path) -> None:
    stage = Stage(tmp_path, max_idle_sessions=1, session_idle_timeout=20)
    stage.agent("alone", acp={"sessions_per_process": "one"})
    with stage:
        first, second = Talk(stage, "alone"), Talk(stage, "alone")
        first.say("hello")
        second.say("hello")
        eventually(lambda: not stage.asks(first.path)["session"]["open"])
        assert stage.asks(second.path)["session"]["open"]


def test_idle_sessions_are_closed_when_agents_use_too_much_memory(tmp_path: Path) -> None:
    stage = Stage(tmp_path, max_idle_memory=1, session_idle_timeout=20)
    stage.agent("plain")
    with stage:
        talk = Talk(stage, "plain")
        talk.say("hello")
        eventually(lambda: not stage.asks(talk.path)["session"]["open"])
        assert text_of(talk.say("again")), "the next run resumes it"


def test_a_transport_of_another_file_is_used_and_not_listed(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    write(stage, "main", "--bare")
    text = (stage.agents / "main.toml").read_text("utf-8")
    missing = text.replace(repr(sys.executable), "'no-such-program'")
    assert missing != text
    (stage.agents / "main.toml").write_text(missing, "utf-8")
    write(stage, "second", "--full", more='transport_of = "main"')
    with stage:
        listed = {agent["id"]: agent for agent in stage.client.get("/agents").json()["agents"]}
        assert "second" not in listed
        assert [(each["name"], each["state"]) for each in listed["main"]["transports"]] == [
            ("acp", "missing"),
            ("second", "in-use"),
        ]
        events = Talk(stage, "main").say("hello")
        assert text_of(events) == "You said: hello"
        alone = stage.client.get("/agents/second").json()
        assert alone["transportOf"] == "main"


def test_a_probe_of_a_program_that_is_missing_changes_only_its_availability(tmp_path: Path) -> None:
    """With a command that is not installed no value comes from a program, and an install is noticed at once."""
    stage = Stage(tmp_path)
    program = tmp_path / "bin" / "late"
    run = stage.command("late", "--full")
    more = f'''
[[fallback]]
name = "print"
driver = "cli"
command = {{ run = ["{program}"] }}
cli = {{ dialect = "gemini", process = "turn", transport = "stdio-lines" }}
capabilities = {{ reasoning = {{ supported = false }} }}
'''
    text = f'id = "late"\ndriver = "acp"\nidentity = {{ name = "late" }}\n[command]\nrun = ["{program}"]\n' + more
    (stage.agents / "late.toml").write_text(text, "utf-8")
    with stage:
        before = stage.client.get("/agents/late/capabilities").json()
        probed = stage.client.get("/agents/late/capabilities?probe=1").json()
        explained = stage.client.get("/agents/late/capabilities?explain=1").json()["explain"]
        assert [path for path, each in explained.items() if each["layer"] == "handshake"] == []
        for tree in (before, probed):
            tree["custom"]["gateway"].pop("availability", None)
        assert probed == before
        program.parent.mkdir()
        exports = "\n".join(f"export {name}='{value}'" for name, value in run["env"].items())
        line = " ".join(f"'{part}'" for part in run["run"])
        program.write_text(f"#!/bin/sh\n{exports}\nexec {line}\n", "utf-8")
        program.chmod(0o755)
        tree = stage.client.get("/agents/late/capabilities?probe=1").json()
        assert tree["custom"]["gateway"]["transport"] == "acp", "the first transport is tried at once"
        assert text_of(Talk(stage, "late").say("hello")) == "You said: hello"


def test_the_processes_of_closed_sessions_are_gone(tmp_path: Path) -> None:
    stage = Stage(tmp_path, max_idle_sessions=0, session_idle_timeout=2)
    stage.agent("alone", acp={"sessions_per_process": "one"})
    with stage:
        Talk(stage, "alone").say("hello")
        processes = stage.processes("alone")
        eventually(lambda: not any(alive(pid) for pid in processes))


def test_an_option_that_the_next_transport_does_not_take_is_refused_when_the_first_fails(tmp_path: Path) -> None:
    """The first transport takes the mode, and ends at its start: the mode must not be dropped."""
    stage = Stage(tmp_path)
    run = stage.command("second", "--full")
    env = ", ".join(f'{name} = "{value}"' for name, value in run["env"].items())
    (stage.agents / "main.toml").write_text(
        f"""id = "main"
driver = "acp"
identity = {{ name = "main" }}
[command]
run = ["false"]
[[fallback]]
name = "second"
driver = "acp"
options = ["cwd"]
command = {{ run = {run["run"]!r}, env = {{ {env} }} }}
""",
        "utf-8",
    )
    with stage:
        events = Talk(stage, "main", mode="ask").say("hello")
        assert outcome_of(events) == "CAPABILITY_ERROR"
        assert "'second'" in events[-1]["message"] and stage.prompts("second", "") == []
        assert refused(stage, "main", mode="ask")["capability"] == "custom.gateway.options.mode"
        assert text_of(Talk(stage, "main").say("hello")) == "You said: hello"
