"""`agui-gateway run` in a pipe: the answer and nothing else, or every event; and how it ends."""

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
from tests.cli.pseudo_terminal import LIMIT, environ, typed
from tests.drivers.process_watch import running, until
from tests.support.gateway import Gateway, text_of
from tests.web.agent_folder import write_agent

PIXEL = b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """A gateway that runs already: most of what is seen does not depend on whose it is, and this is there sooner."""
    with Stage(tmp_path_factory.mktemp("stage")).agent("plain") as running:
        yield running


def run(stage: Stage, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    return typed(stage.workspace, "run", *arguments, "--url", stage.url, env=env)


def events(stage: Stage, *arguments: str) -> list[Wire]:
    done = run(stage, "--json", *arguments)
    assert done.stderr == ""
    return accepted([json.loads(line) for line in done.stdout.splitlines()])


# -- what comes out


def test_into_a_pipe_goes_the_answer_and_nothing_else(stage: Stage) -> None:
    done = run(stage, "demo", "think")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        "I thought about it before I answered: what you saw stream in first were reasoning events.\n"
    )


def test_messages_stand_on_lines_of_their_own_and_tools_are_left_out(stage: Stage) -> None:
    lines = run(stage, "demo", "tool").stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["Let", "In"]


def test_verbose_shows_all_of_it_without_colours(stage: Stage) -> None:
    done = run(stage, "demo", "everything", "--verbose", NO_COLOR="")
    assert "They would like to see me think." in done.stdout
    assert "● get_weather city=Oslo" in done.stdout and "Lisbon: sun" in done.stdout
    assert "[x] Read the question" in done.stdout
    assert "scout: Off to Reykjavík!" in done.stdout
    assert "1,500 in (800 cached) · 385 out (120 thinking)" in done.stdout
    assert "\x1b" not in done.stdout


def test_json_is_every_event_one_a_line_in_an_order_that_clients_accept(stage: Stage) -> None:
    found = events(stage, "demo", "tools")
    assert (found[0]["type"], found[-1]["type"]) == ("RUN_STARTED", "RUN_FINISHED")
    assert [event["toolCallName"] for event in found if event["type"] == "TOOL_CALL_START"] == ["get_weather"] * 2


def test_the_words_of_json_and_text_are_the_same(stage: Stage) -> None:
    assert text_of(events(stage, "demo", "help")) + "\n" == run(stage, "demo", "help").stdout


def test_a_prompt_of_a_dash_is_read_from_stdin(stage: Stage) -> None:
    done = typed(stage.workspace, "run", "echo", "-", "--url", stage.url, stdin="two\nlines")
    assert done.stdout == "two\nlines \n"


def test_an_image_goes_along(stage: Stage) -> None:
    (stage.workspace / "dot.png").write_bytes(PIXEL)
    done = run(stage, "demo", "look", "--image", "dot.png")
    assert (done.returncode, "image/png" in done.stdout) == (0, True)


# -- how it ends


@pytest.mark.parametrize(("prompt", "says"), [("error", "This is the error you asked for"), ("crash", "RuntimeError")])
def test_a_run_that_fails_is_an_exit_code_of_1_with_the_reason(stage: Stage, prompt: str, says: str) -> None:
    done = run(stage, "demo", prompt)
    assert (done.returncode, says in done.stderr) == (1, True), done.stderr
    assert "Traceback" not in done.stderr


def test_what_the_agent_does_not_take_is_refused_with_the_reason(stage: Stage) -> None:
    done = run(stage, "echo", "hello", "--effort", "high")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("agui-gateway: ") and "effort" in done.stderr


BOTH = ("demo", "hello", "--url", "http://127.0.0.1:9", "--store", "memory:")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("demon", "hello"), "there is no agent 'demon'. Did you mean demo?"),
        (("demo", "hello", "--cwd", "nowhere"), "nowhere: there is no such folder"),
        (("demo", "hello", "--image", "notes.txt"), "--image notes.txt: by its name this is no image"),
        (("demo", "hello", "--image", "no.png"), "--image no.png: cannot be read"),
        (("demo", "hello", "--schema", "no.json"), "--schema no.json: cannot be read"),
        (("demo", "hello", "--agents", "nowhere"), "nowhere: not a folder"),
        (("demo", "hello", "--url", "nonsense"), "--url nonsense: write it as http://127.0.0.1:8123"),
        (BOTH, "leave out --agents, --acp and --store"),
    ],
)
def test_a_mistake_is_told_in_one_line(tmp_path: Path, arguments: tuple[str, ...], says: str) -> None:
    done = typed(tmp_path, "run", *arguments)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert says in done.stderr


def test_a_gateway_that_is_not_there_is_named(tmp_path: Path) -> None:
    done = typed(tmp_path, "run", "demo", "hello", "--url", "http://127.0.0.1:9")
    assert done.returncode == 1
    assert "http://127.0.0.1:9/agents/demo cannot be reached" in done.stderr


def test_a_question_that_nobody_can_answer_is_cancelled_and_told(stage: Stage) -> None:
    done = run(stage, "demo", "approve")
    assert done.returncode == 0
    assert "notes.txt stays: the question was cancelled." in done.stdout
    assert "'May I delete notes.txt? You may also name another file.': nobody can answer here" in done.stderr
    assert "--approvals" in done.stderr


def test_a_pipe_that_nobody_reads_any_more_ends_the_run(stage: Stage) -> None:
    line = shlex.join([sys.executable, "-m", "gateway", "run", "demo", "slow 600", "--url", stage.url])
    before = stage.asks("/readyz")["runs"]
    done = subprocess.run(
        ["sh", "-c", f"{line} | head -c 3"],
        env=environ(stage.workspace),
        cwd=stage.workspace,
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    assert (len(done.stdout), "Traceback" in done.stderr) == (3, False)
    until(lambda: stage.asks("/readyz")["runs"] == before)


# -- wishes


@pytest.mark.parametrize(("policy", "says"), [("auto", "chose allow"), ("deny", "chose reject")])
def test_a_policy_decides_before_anybody_is_asked(stage: Stage, policy: str, says: str) -> None:
    done = run(stage, "plain", "tool", "--approvals", policy)
    assert (done.returncode, done.stderr) == (0, "")
    assert says in done.stdout


def test_wishes_and_the_folder_to_work_in_reach_the_agent(stage: Stage) -> None:
    (stage.workspace / "project").mkdir()
    done = run(stage, "plain", "hello", "--cwd", "project", "--mode", "auto")
    assert (done.returncode, done.stderr) == (0, "")
    [opened] = [sent for sent in stage.received("plain", method="session/new") if "project" in sent["params"]["cwd"]]
    assert opened["params"]["cwd"] == str(stage.workspace / "project")
    assert [sent["params"]["modeId"] for sent in stage.received("plain", method="session/set_mode")] == ["auto"]


# -- a gateway of its own


def test_any_acp_agent_can_be_talked_to_in_any_folder(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    log = tmp_path / "log"
    fake = f"{sys.executable} -S -m tests.fakes.acp_agent --log={log}"
    name = Path(sys.executable).stem
    done = typed(tmp_path, "run", name, "hello", "--acp", fake, "--cwd", "project", env={"PYTHONPATH": str(ROOT)})
    assert (done.returncode, done.stdout, done.stderr) == (0, "You said: hello\n", "")
    assert f'"cwd":"{tmp_path / "project"}"' in log.read_text()
    assert running(f"--log={log}") == []


# -- conversations


REMEMBERS = """\
async def agent(turn):
    yield " / ".join(str(message["content"]).strip() for message in turn.messages)
"""


def test_a_conversation_is_gone_on_with(tmp_path: Path) -> None:
    write_agent(tmp_path / "agents", "mine", REMEMBERS)
    for prompt, says in (("one", "one"), ("two", "one / one / two")):
        done = typed(tmp_path, "run", "mine", prompt, "--agents", "agents", "--thread", "t1")
        assert (done.returncode, done.stdout, done.stderr) == (0, f"{says}\n", "")
    assert typed(tmp_path, "run", "mine", "new", "--agents", "agents").stdout == "new\n"


def test_beside_a_gateway_that_serves_it_works_and_forgets(tmp_path: Path) -> None:
    """The store is the other's, so there is nothing to go on with; that is told when it is asked for."""
    store = f"sqlite://{tmp_path / 'agui-gateway' / 'gateway.db'}"
    with Gateway(tmp_path, store=store) as running:
        assert typed(tmp_path, "run", "echo", "hello").stdout == "hello \n"
        done = typed(tmp_path, "run", "echo", "hello", "--thread", "t1")
        assert (done.returncode, "in use by another agui-gateway" in done.stderr) == (2, True)
        assert f"pid {running.pid}" in done.stderr


# -- a gateway that runs already


def test_a_running_gateway_keeps_the_conversation(stage: Stage) -> None:
    for prompt in ("one", "two"):
        done = run(stage, "echo", prompt, "--thread", "from-the-terminal")
        assert (done.returncode, done.stdout) == (0, f"{prompt} \n")
    kept = stage.asks("/agents/echo/threads/from-the-terminal")["messages"]
    assert [message["role"] for message in kept] == ["user", "assistant"] * 2
    assert not (stage.workspace / "agui-gateway").exists()  # it keeps nothing itself


def test_a_running_gateway_that_wants_a_token_gets_it(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.txt"
    tokens.write_text("# whose\nann[read,run]:0123456789abcdef  # hers\nbob:fedcba9876543210\n")
    with Gateway(tmp_path / "home", "--token-file", str(tokens)) as running:
        refused = typed(tmp_path, "run", "echo", "hello", "--url", running.url)
        assert (refused.returncode, "no token was sent" in refused.stderr) == (1, True)
        done = typed(tmp_path, "run", "echo", "hello", "--url", running.url, "--token-file", str(tokens))
        assert (done.returncode, done.stdout) == (0, "hello \n")


def test_something_else_at_that_address_is_not_taken_for_a_gateway(stage: Stage) -> None:
    done = typed(stage.workspace, "run", "echo", "hello", "--url", f"{stage.url}/nowhere")
    assert done.returncode == 1
    assert "there is nothing at /nowhere/agents/echo" in done.stderr


def test_a_settings_file_that_asks_for_tokens_is_no_hindrance(tmp_path: Path) -> None:
    (tmp_path / "tokens.txt").write_text("0123456789abcdef\n")
    (tmp_path / "gateway.toml").write_text('token_file = "tokens.txt"\nstore = "memory:"\n')
    assert typed(tmp_path, "run", "echo", "hello").stdout == "hello \n"
