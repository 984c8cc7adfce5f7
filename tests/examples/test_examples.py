"""Every example runs as its README describes, against a real gateway."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from gateway.catalog.load import load_folder
from gateway.settings import ENV_PREFIX, Settings
from tests.clients.install import HERE as CLIENTS
from tests.clients.install import install, node
from tests.support.gateway import Gateway, events_of, text_of, types_of
from tests.support.image import read_steps, settle
from tests.support.project import ROOT

EXAMPLES = ROOT / "examples"
CUSTOM_AGENTS = EXAMPLES / "custom-agent" / "agents"
TIMEOUT_SECONDS = 120.0


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with Gateway(tmp_path_factory.mktemp("examples"), "--agents", str(CUSTOM_AGENTS)) as running:
        yield running


def run_command(gateway: Gateway, *command: str | Path, cwd: Path) -> str:
    """What the command prints; it must succeed."""
    env = os.environ | {"GATEWAY": gateway.url, "NO_PROXY": "*", "no_proxy": "*"}
    result = subprocess.run(
        list(map(str, command)), cwd=cwd, env=env, capture_output=True, text=True, timeout=TIMEOUT_SECONDS
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_every_folder_has_a_readme_and_is_listed() -> None:
    folders = {path.name for path in EXAMPLES.iterdir() if path.is_dir()}
    listed = set(re.findall(r"^\| \[([\w-]+)\]", (EXAMPLES / "README.md").read_text(), re.M))
    assert folders == listed
    assert all((EXAMPLES / name / "README.md").is_file() for name in folders)


# -- curl


def test_curl_reads_capabilities_and_gets_304_when_nothing_changed(gateway: Gateway) -> None:
    output = run_command(gateway, "./capabilities.sh", cwd=EXAMPLES / "curl")
    snapshot, explained, again = [part.splitlines()[-1] for part in output.split("\n---")]
    assert json.loads(snapshot)["identity"]["name"] == "Demo"
    assert json.loads(explained)["explain"]["identity.name"]["layer"] == "profile"
    assert again == "304"


def test_curl_runs_an_agent(gateway: Gateway) -> None:
    events = events_of(run_command(gateway, "./run.sh", "tool", cwd=EXAMPLES / "curl"))
    assert "TOOL_CALL_RESULT" in types_of(events)
    assert types_of(events)[-1] == "RUN_FINISHED"


def test_curl_answers_an_interrupt(gateway: Gateway) -> None:
    interrupted, answered = run_command(gateway, "./resume.sh", cwd=EXAMPLES / "curl").split("--- approved")
    assert events_of(interrupted)[-1]["outcome"]["type"] == "interrupt"
    assert "old-notes.txt is deleted" in text_of(events_of(answered.partition("\n")[2]))


def test_curl_reconnects_for_the_rest(gateway: Gateway) -> None:
    _, first, rest = re.split(r"^--- ", run_command(gateway, "./reattach.sh", cwd=EXAMPLES / "curl"), flags=re.M)
    assert "id: 1" in first
    numbers = [int(number) for number in re.findall(r"^id: (\d+)$", rest, re.M)]
    assert numbers == list(range(3, numbers[-1] + 1))
    assert events_of(rest.partition("\n")[2])[-1]["type"] == "RUN_FINISHED"


# -- the clients


def test_the_python_client_reads_the_same_run_from_both_formats(gateway: Gateway, tmp_path: Path) -> None:
    shutil.copy(EXAMPLES / "python-client" / "client.py", tmp_path)
    protoc = [sys.executable, "-m", "grpc_tools.protoc", f"-I{ROOT / 'proto'}", "--python_out=.", "ag_ui.proto"]
    run_command(gateway, *protoc, cwd=tmp_path)
    kinds = []
    for flags in ([], ["--protobuf"]):
        first, *lines = run_command(
            gateway, sys.executable, "client.py", "demo", "tool", *flags, cwd=tmp_path
        ).splitlines()
        assert first == "reasoning: True"
        events = [json.loads(line) for line in lines]
        assert {event["toolCallName"] for event in events if event["type"] == "TOOL_CALL_START"} == {"get_weather"}
        kinds.append([event["type"] for event in events if event["type"] != "TEXT_MESSAGE_CONTENT"])
    assert kinds[0] == kinds[1]


def test_the_javascript_client_reads_capabilities_runs_and_answers(gateway: Gateway, tmp_path: Path) -> None:
    install()
    for path in (EXAMPLES / "js-client").glob("*.mjs"):
        shutil.copy(path, tmp_path)
    (tmp_path / "node_modules").symlink_to(CLIENTS / "node_modules")
    output = run_command(gateway, node(), "talk.mjs", cwd=tmp_path)
    assert "show a paperclip: true" in output
    assert "interrupt: May I delete notes.txt?" in output
    assert "notes.txt is deleted" in output
    assert output.endswith("open interrupts: 0\n")


def test_the_javascript_client_is_the_version_that_is_tested() -> None:
    wanted = json.loads((EXAMPLES / "js-client" / "package.json").read_text())["dependencies"]
    pinned = json.loads((CLIENTS / "package.json").read_text())["dependencies"]
    assert wanted.items() <= pinned.items()


# -- custom agents


@pytest.mark.parametrize("name", ["otter", "stoat", "heron", "kite"])
def test_check_finds_nothing_wrong_with_an_example(gateway: Gateway, name: str) -> None:
    run_command(gateway, sys.executable, "-m", "gateway", "check", CUSTOM_AGENTS / f"{name}.toml", cwd=ROOT)


def test_the_run_command_of_the_readme_works(gateway: Gateway, tmp_path: Path) -> None:
    here = Path(shutil.copytree(EXAMPLES / "custom-agent", tmp_path / "custom-agent"))
    assert "mkdir -p workspace " in (here / "README.md").read_text()
    (here / "workspace").mkdir()
    [line] = re.findall(r"^agui-gateway (run .*?) +#", (here / "README.md").read_text(), re.M)
    output = run_command(gateway, sys.executable, "-m", "gateway", *shlex.split(line), cwd=here)
    assert output.startswith("You gave me 1 word")


def test_the_readme_names_every_agent_of_the_folder() -> None:
    listed = re.findall(r"^\| `(\w+)` \|", (EXAMPLES / "custom-agent" / "README.md").read_text(), re.M)
    assert sorted(listed) == sorted(load_folder(CUSTOM_AGENTS))


def test_a_program_that_prints_text_gets_the_earlier_messages(gateway: Gateway) -> None:
    first = gateway.run("otter", "one two extraordinary", threadId="otters")
    assert text_of(first) == "You gave me 3 words, the longest is **extraordinary**.\n"
    before = [
        {"id": "1", "role": "user", "content": "one two extraordinary"},
        {"id": "2", "role": "assistant", "content": text_of(first)},
        {"id": "3", "role": "user", "content": "short"},
    ]
    second = gateway.run("otter", threadId="otters", messages=before)
    assert "**extraordinary**" in text_of(second), "it has no memory of its own"
    assert "CUSTOM" not in types_of(second), "and nothing was lost"


def test_a_program_that_fails_reports_why(gateway: Gateway) -> None:
    last = gateway.run("otter", " ")[-1]
    assert last["type"] == "RUN_ERROR"
    assert "exit code 1: the prompt is empty" in last["message"]


def test_a_program_that_prints_events_shows_its_tools_and_reasoning(gateway: Gateway) -> None:
    events = gateway.run("stoat", "this hole")
    assert {"REASONING_MESSAGE_CONTENT", "TOOL_CALL_START", "TOOL_CALL_RESULT"} <= set(types_of(events))
    assert text_of(events) == "There is a vole in it."


@pytest.mark.parametrize(("approved", "output"), [(True, "I have a fish."), (False, "Then I keep waiting.")])
def test_a_function_asks_for_approval_and_goes_on_with_the_answer(
    gateway: Gateway, approved: bool, output: str
) -> None:
    thread = f"herons-{approved}"
    interrupt = gateway.run("heron", "a fish", threadId=thread)[-1]["outcome"]["interrupts"][0]
    resume = [{"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": approved}}]
    assert text_of(gateway.run("heron", threadId=thread, messages=[], resume=resume)) == output


def test_a_pydantic_ai_agent_calls_its_tool_and_a_client_tool(gateway: Gateway) -> None:
    events = gateway.run("kite", "Is it windy?")
    assert [event["toolCallName"] for event in events if event["type"] == "TOOL_CALL_START"] == ["wind"]
    assert text_of(events) == "A good day to fly."
    flag = {"name": "raise_flag", "description": "Shows a flag.", "parameters": {"type": "object", "properties": {}}}
    called = gateway.run("kite", "Show me.", tools=[flag])
    starts = {event["toolCallId"]: event["toolCallName"] for event in called if event["type"] == "TOOL_CALL_START"}
    answered = {event["toolCallId"] for event in called if event["type"] == "TOOL_CALL_RESULT"}
    assert [starts[call] for call in starts.keys() - answered] == ["raise_flag"]


# -- the container


def test_the_image_adds_an_agent_to_the_gateways_own_and_runs_as_its_user() -> None:
    steps = read_steps((EXAMPLES / "compose" / "Dockerfile").read_text())
    own = settle(read_steps((ROOT / "Dockerfile").read_text()))
    readme = (EXAMPLES / "compose" / "README.md").read_text()
    base = next(step.rest for step in steps if step.name == "FROM")
    assert f"docker build -t {base} ../.." in readme
    users = [step.rest for step in steps if step.name == "USER"]
    assert users == ["root", own.user]
    assert own.entrypoint == ("agui-gateway", "serve"), "which it keeps"


def test_the_image_installs_what_the_agents_file_names() -> None:
    text = (EXAMPLES / "compose" / "Dockerfile").read_text()
    claude = load_folder(ROOT / "agents")["claude"]
    package = next(way.package for way in claude.install if way.kind == "npm")
    assert f"RUN npm install -g {package}\n" in text
    for name in re.findall(rf"{ENV_PREFIX}(\w+)=", text):
        assert name.lower() in Settings.model_fields


def test_the_composition_mounts_what_the_image_expects() -> None:
    service = yaml.safe_load((EXAMPLES / "compose" / "compose.yaml").read_text())["services"]["gateway"]
    env = settle(read_steps((ROOT / "Dockerfile").read_text())).env
    assert service["ports"] == [f"127.0.0.1:{env['AGUI_GATEWAY_PORT']}:{env['AGUI_GATEWAY_PORT']}"]
    assert Path(env["AGUI_GATEWAY_TOKEN_FILE"]).name == service["secrets"][0]["target"]
    assert Path(env["AGUI_GATEWAY_TOKEN_FILE"]).parent == Path("/run/secrets")
    targets = {volume.split(":")[1] for volume in service["volumes"]}
    assert {env["HOME"], "/workspace"} == targets
    assert all(value is None for value in service["environment"].values()), "the file contains no secret"
