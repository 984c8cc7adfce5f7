"""`agui-gateway run` in a pipe: only the answer, or every event; and its exit codes."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.events import Wire
from tests.agui.replay import accepted
from tests.behaviour.acp.harness import ROOT, Stage
from tests.cli.pseudo_terminal import TIMEOUT_SECONDS, environment, run_command, user_folders
from tests.drivers.process_watch import running, until
from tests.support.gateway import Gateway, text_of
from tests.web.agent_folder import write_agent

PIXEL = b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """A running gateway: most output does not depend on which gateway it is, and this is faster."""
    with Stage(tmp_path_factory.mktemp("stage")).agent("plain") as running:
        yield running


def run(stage: Stage, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    return run_command(stage.workspace, "run", *arguments, "--url", stage.url, env=env)


def events(stage: Stage, *arguments: str) -> list[Wire]:
    result = run(stage, "--json", *arguments)
    assert result.stderr == ""
    return accepted([json.loads(line) for line in result.stdout.splitlines()])


# -- output


def test_a_pipe_gets_only_the_answer(stage: Stage) -> None:
    result = run(stage, "demo", "think")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == (
        "I thought about it before I answered: what you saw stream in first were reasoning events.\n"
    )


def test_each_message_is_on_its_own_line_and_tools_are_left_out(stage: Stage) -> None:
    lines = run(stage, "demo", "tool").stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["Let", "In"]


def test_verbose_shows_everything_without_colours(stage: Stage) -> None:
    result = run(stage, "demo", "everything", "--verbose", NO_COLOR="")
    assert "They would like to see me think." in result.stdout
    assert "● get_weather city=Oslo" in result.stdout and "Lisbon: sun" in result.stdout
    assert "[x] Read the question" in result.stdout
    assert "scout: Off to Reykjavík!" in result.stdout
    assert "1,500 in (800 cached) · 385 out (120 thinking)" in result.stdout
    assert "\x1b" not in result.stdout


def test_json_is_every_event_one_per_line_in_a_valid_order(stage: Stage) -> None:
    received = events(stage, "demo", "tools")
    assert (received[0]["type"], received[-1]["type"]) == ("RUN_STARTED", "RUN_FINISHED")
    assert [event["toolCallName"] for event in received if event["type"] == "TOOL_CALL_START"] == ["get_weather"] * 2


def test_json_and_text_have_the_same_answer(stage: Stage) -> None:
    assert text_of(events(stage, "demo", "help")) + "\n" == run(stage, "demo", "help").stdout


def test_a_prompt_of_a_dash_is_read_from_stdin(stage: Stage) -> None:
    result = run_command(stage.workspace, "run", "echo", "-", "--url", stage.url, stdin="two\nlines")
    assert result.stdout == "two\nlines \n"


def test_an_image_is_attached(stage: Stage) -> None:
    (stage.workspace / "dot.png").write_bytes(PIXEL)
    result = run(stage, "demo", "look", "--image", "dot.png")
    assert (result.returncode, "image/png" in result.stdout) == (0, True)


# -- exit codes


@pytest.mark.parametrize(
    ("prompt", "message"), [("error", "This is the error you asked for"), ("crash", "RuntimeError")]
)
def test_a_run_that_fails_is_an_exit_code_of_1_with_the_reason(stage: Stage, prompt: str, message: str) -> None:
    result = run(stage, "demo", prompt)
    assert (result.returncode, message in result.stderr) == (1, True), result.stderr
    assert "Traceback" not in result.stderr


def test_an_unsupported_option_is_refused_with_the_reason(stage: Stage) -> None:
    result = run(stage, "echo", "hello", "--effort", "high")
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith("agui-gateway: ") and "effort" in result.stderr


BOTH = ("demo", "hello", "--url", "http://127.0.0.1:9", "--store", "memory:")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("demon", "hello"), "there is no agent 'demon'. Did you mean demo?"),
        (("demo", "hello", "--cwd", "nowhere"), "nowhere: there is no such directory"),
        (("demo", "hello", "--image", "notes.txt"), "--image notes.txt: this is not the name of an image file"),
        (("demo", "hello", "--image", "no.png"), "--image no.png: cannot be read"),
        (("demo", "hello", "--schema", "no.json"), "--schema no.json: cannot be read"),
        (("demo", "hello", "--agents", "nowhere"), "nowhere: not a directory"),
        (("demo", "hello", "--url", "nonsense"), "--url nonsense: write it as http://127.0.0.1:8123"),
        (BOTH, "omit --agents, --acp, --store and --trust"),
    ],
)
def test_a_mistake_is_reported_in_one_line(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    result = run_command(tmp_path, "run", *arguments)
    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (2, "", 1), result.stderr
    assert message in result.stderr


def test_an_unreachable_gateway_is_named(tmp_path: Path) -> None:
    result = run_command(tmp_path, "run", "demo", "hello", "--url", "http://127.0.0.1:9")
    assert result.returncode == 1
    assert "http://127.0.0.1:9/agents/demo cannot be reached" in result.stderr


def test_without_a_terminal_an_interrupt_is_cancelled_and_reported(stage: Stage) -> None:
    result = run(stage, "demo", "approve")
    assert result.returncode == 0
    assert "notes.txt stays: the question was cancelled." in result.stdout
    assert "'May I delete notes.txt? You may also name another file.', but stdin is not a terminal" in result.stderr
    assert "--approvals" in result.stderr


def test_a_closed_pipe_ends_the_run(stage: Stage) -> None:
    line = shlex.join([sys.executable, "-m", "gateway", "run", "demo", "slow 600", "--url", stage.url])
    before = stage.asks("/readyz")["runs"]
    result = subprocess.run(
        ["sh", "-c", f"{line} | head -c 3"],
        env=environment(stage.workspace),
        cwd=stage.workspace,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
    )
    assert (len(result.stdout), "Traceback" in result.stderr) == (3, False)
    until(lambda: stage.asks("/readyz")["runs"] == before)


# -- options


@pytest.mark.parametrize(("policy", "message"), [("auto", "chose allow"), ("deny", "chose reject")])
def test_a_policy_decides_instead_of_the_user(stage: Stage, policy: str, message: str) -> None:
    result = run(stage, "plain", "tool", "--approvals", policy)
    assert (result.returncode, result.stderr) == (0, "")
    assert message in result.stdout


def test_options_and_the_working_directory_reach_the_agent(stage: Stage) -> None:
    (stage.workspace / "project").mkdir()
    result = run(stage, "plain", "hello", "--cwd", "project", "--mode", "auto")
    assert (result.returncode, result.stderr) == (0, "")
    [opened] = [sent for sent in stage.received("plain", method="session/new") if "project" in sent["params"]["cwd"]]
    assert opened["params"]["cwd"] == str(stage.workspace / "project")
    assert [sent["params"]["modeId"] for sent in stage.received("plain", method="session/set_mode")] == ["auto"]


# -- an embedded gateway


def test_any_acp_agent_runs_in_any_directory(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    log = tmp_path / "log"
    fake = f"{sys.executable} -S -m tests.fakes.acp_agent --log={log}"
    name = Path(sys.executable).stem
    result = run_command(
        tmp_path, "run", name, "hello", "--acp", fake, "--cwd", "project", "--trust", env={"PYTHONPATH": str(ROOT)}
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "You said: hello\n", "")
    assert f'"cwd":"{tmp_path / "project"}"' in log.read_text()
    assert running(f"--log={log}") == []


# -- conversations


REMEMBERS = """\
async def agent(turn):
    yield " / ".join(str(message["content"]).strip() for message in turn.messages)
"""


def test_a_conversation_is_continued(tmp_path: Path) -> None:
    folder = tmp_path.with_name(f"{tmp_path.name}-agents")
    write_agent(folder, "mine", REMEMBERS)
    for prompt, message in (("one", "one"), ("two", "one / one / two")):
        result = run_command(tmp_path, "run", "mine", prompt, "--agents", str(folder), "--thread", "t1")
        assert (result.returncode, result.stdout, result.stderr) == (0, f"{message}\n", "")
    assert run_command(tmp_path, "run", "mine", "new", "--agents", str(folder)).stdout == "new\n"


def test_while_a_gateway_uses_the_store_a_run_is_not_stored(tmp_path: Path) -> None:
    """The other gateway has locked the store. With --thread this is an error."""
    store = f"sqlite://{user_folders(tmp_path)['XDG_DATA_HOME']}/agui-gateway/gateway.db"
    with Gateway(tmp_path, store=store) as running:
        assert run_command(tmp_path, "run", "echo", "hello").stdout == "hello \n"
        result = run_command(tmp_path, "run", "echo", "hello", "--thread", "t1")
        assert (result.returncode, "in use by another agui-gateway" in result.stderr) == (2, True)
        assert f"pid {running.pid}" in result.stderr


# -- a running gateway


def test_a_running_gateway_keeps_the_conversation(stage: Stage) -> None:
    for prompt in ("one", "two"):
        result = run(stage, "echo", prompt, "--thread", "from-the-terminal")
        assert (result.returncode, result.stdout) == (0, f"{prompt} \n")
    messages = stage.asks("/agents/echo/threads/from-the-terminal")["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant"] * 2
    assert not (stage.workspace / "agui-gateway").exists()  # the command itself stores nothing


def test_a_running_gateway_that_requires_a_token_gets_it(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.txt"
    tokens.write_text("# whose\nann[read,run]:0123456789abcdef  # hers\nbob:fedcba9876543210\n")
    tokens.chmod(0o600)
    with Gateway(tmp_path / "home", "--token-file", str(tokens)) as running:
        refusal = run_command(tmp_path, "run", "echo", "hello", "--url", running.url)
        assert (refusal.returncode, "no token was sent" in refusal.stderr) == (1, True)
        result = run_command(tmp_path, "run", "echo", "hello", "--url", running.url, "--token-file", str(tokens))
        assert (result.returncode, result.stdout) == (0, "hello \n")


def test_an_address_that_is_no_gateway_is_reported(stage: Stage) -> None:
    result = run_command(stage.workspace, "run", "echo", "hello", "--url", f"{stage.url}/nowhere")
    assert result.returncode == 1
    assert "there is nothing at /nowhere/agents/echo" in result.stderr


def test_a_settings_file_with_a_token_file_does_not_matter(tmp_path: Path) -> None:
    folder = Path(user_folders(tmp_path)["XDG_CONFIG_HOME"]) / "agui-gateway"
    folder.mkdir(parents=True)
    (folder / "tokens.txt").write_text("0123456789abcdef\n")
    (folder / "tokens.txt").chmod(0o600)
    (folder / "gateway.toml").write_text('token_file = "tokens.txt"\nstore = "memory:"\n')
    assert run_command(tmp_path, "run", "echo", "hello").stdout == "hello \n"
