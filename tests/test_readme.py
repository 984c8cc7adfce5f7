"""What the README shows is so: its tables, its files, its names, and every command in it."""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from gateway.catalog.definition import AgentDefinition
from gateway.catalog.load import load_folder
from gateway.cli import main
from gateway.cli.commands import COMMANDS
from gateway.cli.commands.serve import command as serve_command
from gateway.settings import ENV_PREFIX, Settings
from tests.cli.pseudo_terminal import Terminal
from tests.support.gateway import Gateway, events_of, numbers_of, run_input, text_of
from tests.support.project import ROOT, copy_project, environ, make_serve, run, served_clone
from tests.support.routes import endpoints

README = (ROOT / "README.md").read_text("utf-8")
LINES = README.splitlines()
FIRST_SCREEN = 55
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
CODE = re.compile(r"`([^`\n]+)`")
ADDRESS = f"http://127.0.0.1:{Settings().port}"
CURLRC = "fail\nsilent\nshow-error\nmax-time = 60\nnoproxy = *\n"
"""An answer of 400 or more is a failure, and the reader's own .curlrc and proxy stay out of it."""

CAREFUL = """\
from collections.abc import AsyncGenerator, Mapping

from gateway.events import Asked, Question
from gateway.turn import Answer, Turn


"""


def blocks(language: str) -> list[str]:
    return [body for found, body in FENCE.findall(README) if found == language]


def inline() -> list[str]:
    """What stands in backticks in the prose and the tables."""
    return CODE.findall(FENCE.sub("", README))


# -- the first screen


def test_it_opens_with_one_sentence() -> None:
    title, blank, *rest = LINES
    sentence = " ".join(rest[: rest.index("")])
    assert (title, blank) == ("# agui-gateway", "")
    assert re.findall(r"\.(?=\s|$)", sentence) == ["."]
    assert sentence.endswith(".")


def test_the_picture_the_commands_and_the_first_curl_are_on_the_first_screen() -> None:
    screen = LINES[:FIRST_SCREEN]
    order = [
        next(number for number, line in enumerate(screen) if line.startswith(start))
        for start in ("client ─HTTP▶", "make serve", "make test", f"curl -N {ADDRESS}/agents/echo", "id: 1")
    ]
    assert order == sorted(order)
    assert f"prints {ADDRESS}" in screen[order[1]]


# -- at the terminal


def test_what_a_run_looks_like_is_what_one_sees(tmp_path: Path) -> None:
    [recorded] = [block for block in blocks("text") if block.startswith("$ agui-gateway run")]
    command, _, expected = recorded.partition("\n")
    with Terminal(tmp_path, *shlex.split(command)[2:]) as terminal:
        assert terminal.end() == 0
    seen = terminal.screen.partition("To continue: ")[0]
    assert [without_time(line) for line in seen.splitlines()] == [without_time(line) for line in expected.splitlines()]


def without_time(line: str) -> str:
    return re.sub(r"^[0-9.]+ s$", "… s", line.rstrip())


# -- tables and files


def agents_table() -> str:
    rows = [f"| `{agent.id}` | {agent.identity.description} |" for agent in load_folder(ROOT / "agents").values()]
    return "\n".join(["| agent | what it does |", "|---|---|", *rows])


def test_the_agents_table_is_what_the_agents_files_say() -> None:
    shown = re.search(r"<!-- agents:.*?-->\n\n(.*?)\n\n<!-- /agents -->", README, re.S)
    assert shown is not None, "the marks <!-- agents: … --> and <!-- /agents --> are gone"
    table = agents_table()
    assert shown[1] == table, f"paste this between the marks:\n\n{table}\n"


@pytest.mark.parametrize("name", ["agents/echo.toml", "agents/echo.py"])
def test_the_agent_shown_is_the_one_that_comes_along(name: str) -> None:
    [shown] = [body for _, body in FENCE.findall(README) if body.startswith(f"# {name}\n")]
    assert shown.removeprefix(f"# {name}\n") == (ROOT / name).read_text("utf-8")


def without_names(path: str) -> str:
    return re.sub(r"\{.*?\}", "{}", path)


def documented() -> list[tuple[str, str]]:
    """(method, path) of the routes' table. A row may leave the method out, and `…` stands for the folder before."""
    [table] = re.findall(r"^\| route \| what \|\n.*\n((?:\|.*\n)+)", README, re.M)
    found, folder = [], ""
    for name in (name for row in table.splitlines() for name in CODE.findall(row.split(" | ")[0])):
        method, _, path = name.rpartition(" ")
        path = path.replace("…", folder)
        folder = path.rpartition("/")[0] if "…" not in name else folder
        found.append((method, without_names(path)))
    return found


def test_the_routes_table_has_every_route_and_no_other() -> None:
    real = {(method, without_names(path)) for method, path in endpoints()}
    shown = set(documented())
    untold = {(method, path) for method, path in real if not {(method, path), ("", path)} & shown}
    assert untold == set(), "routes that the README does not tell of"
    assert shown - real - {("", path) for _, path in real} == set(), "routes that only the README knows"


def test_every_link_into_the_project_leads_somewhere() -> None:
    links = [link for link in re.findall(r"\]\(([^)]+)\)", README) if "://" not in link]
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


# -- names


def test_every_setting_it_names_exists() -> None:
    names = [word for word in inline() if re.fullmatch(r"[a-z]+(_[a-z]+)+", word)]
    assert {"interrupt_ttl", "retain_seconds", "retain_bytes"} <= set(names)
    assert [name for name in names if name not in Settings.model_fields and not importlib.util.find_spec(name)] == []


def test_every_environment_variable_it_names_sets_something() -> None:
    names = re.findall(rf"{ENV_PREFIX}([A-Z_]+)", README)
    assert names
    assert [name for name in names if name.lower() not in Settings.model_fields] == []


def test_every_key_it_shows_belongs_to_the_settings_or_to_an_agents_file() -> None:
    keys = [found[1] for word in inline() if (found := re.match(r"(\w+) = ", word))]
    assert {"port", "merge", "capabilities_entry"} <= set(keys)
    assert [key for key in keys if key not in {*Settings.model_fields, *AgentDefinition.model_fields}] == []


def options() -> dict[str, str | None]:
    """Option of `serve` → the setting behind it."""
    return {name: param.name for param in serve_command.params for name in param.opts}


def all_options() -> set[str]:
    """Of every command."""
    context = click.Context(main)
    found = [main.get_command(context, name) for name in COMMANDS]
    return {name for command in found if command is not None for param in command.params for name in param.opts}


def test_every_option_it_names_exists() -> None:
    named = {found for word in inline() for found in re.findall(r"(?<!\S)--[a-z-]+", word)}
    assert {"--agents", "--allow-origin", "--host", "--store", "--token-file", "--thread", "--url"} <= named
    assert named - all_options() - {"--help"} == set()


def test_help_teaches_every_option_and_each_is_a_setting() -> None:
    help_text = CliRunner().invoke(main, ["serve", "--help"]).output
    taught = re.findall(r"^  (--[a-z-]+)(?: +\S+)? {2,}\S", help_text, re.M)
    assert sorted(taught) == sorted(options())
    assert {name for name in options().values() if name not in Settings.model_fields} == {"config", "verbose"}


# -- commands


def at_the_terminal() -> list[str]:
    """The gateway's own commands of the `sh` blocks, without their comments."""
    lines = [line for block in blocks("sh") for line in block.splitlines() if line.startswith("agui-gateway ")]
    return [shlex.join(shlex.split(line, comments=True)) for line in lines]


@pytest.mark.parametrize("line", at_the_terminal())
def test_every_command_of_the_terminal_works(line: str, tmp_path: Path) -> None:
    name, *arguments = shlex.split(line)
    assert (name, arguments[0] in COMMANDS) == ("agui-gateway", True)
    command = [sys.executable, "-m", "gateway", *arguments]
    shutil.copytree(ROOT / "agents", tmp_path / "my-agents")
    done = subprocess.run(command, env=environ(tmp_path), cwd=tmp_path, capture_output=True, text=True, timeout=60)
    # What a doctor finds depends on the machine.
    assert done.returncode in ((0, 1) if arguments[0] == "doctor" else (0,)), done.stderr
    assert "Traceback" not in done.stderr and (done.stdout or done.stderr)


def test_every_command_there_is_is_shown() -> None:
    assert {shlex.split(line)[1] for line in at_the_terminal()} == COMMANDS.keys() - {"serve"}


def commands() -> list[str]:
    """The `curl` commands of the `sh` blocks, in order. One may go on over several lines."""
    found: list[str] = []
    for block in blocks("sh"):
        lines = iter(block.splitlines())
        for line in lines:
            while not complete(line):
                line += "\n" + next(lines)
            found.append(line)
    return [command for command in found if command.startswith("curl ")]


def complete(command: str) -> bool:
    """Whether every quote is closed."""
    try:
        shlex.split(command, comments=True)
    except ValueError:
        return False
    return True


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What each command prints, one after the other, at a gateway that was started as the README says."""
    home = tmp_path_factory.mktemp("readme")
    (home / ".curlrc").write_text(CURLRC)
    env = environ(home, CURL_HOME=str(home))
    with make_serve(served_clone(tmp_path_factory), home) as served:
        return [run(["sh", "-c", command.replace(ADDRESS, served.url)], home, env) for command in commands()]


def test_the_first_command_prints_what_is_shown_below_it(answers: list[str]) -> None:
    shown = blocks("text")[0]
    ids = [set(re.findall(r'"messageId":"(.*?)"', text)) for text in (shown, answers[0])]
    assert [len(found) for found in ids] == [1, 1]
    assert answers[0].replace(ids[1].pop(), ids[0].pop()).rstrip("\n") == shown.rstrip("\n")


def test_every_command_answers(answers: list[str]) -> None:
    assert len(answers) == README.count("\ncurl ") > 5
    for command, answer in zip(commands(), answers, strict=True):
        if "curl -N" in command or "/events" in command:
            assert events_of(answer)[-1]["type"] == "RUN_FINISHED", command
        else:
            assert isinstance(json.loads(answer), dict), command


def test_a_run_is_attached_to_from_where_the_command_says(answers: list[str]) -> None:
    again = next(number for number, command in enumerate(commands()) if "/events?after=3" in command)
    whole = next(number for number, command in enumerate(commands()) if '"runId": "r2"' in command)
    assert numbers_of(answers[again]) == [number for number in numbers_of(answers[whole]) if number > 3]


def test_the_agent_that_asks_really_asks(tmp_path: Path) -> None:
    [snippet] = [block for block in blocks("python") if "def careful" in block]
    agents = tmp_path / "my-agents"
    agents.mkdir()
    (agents / "careful.py").write_text(CAREFUL + snippet)
    (agents / "careful.toml").write_text(
        'id = "careful"\ndriver = "python"\nentry = "careful:careful"\n[identity]\nname = "Careful"\n'
    )
    with Gateway(tmp_path / "home", "--agents", str(agents)) as gateway:
        said = [answer_with(gateway, status) for status in ("resolved", "cancelled")]
    assert said == ["Done.", "Left alone."]


def answer_with(gateway: Gateway, status: str) -> str:
    asked = run_input("Delete it all")
    [interrupt] = events_of(gateway.post("careful", asked).text)[-1]["outcome"]["interrupts"]
    assert interrupt["message"] == "Sure?"
    resume = [{"interruptId": interrupt["id"], "status": status}]
    return text_of(gateway.run("careful", threadId=asked["threadId"], messages=asked["messages"], resume=resume))


def test_continuous_integration_runs_its_test_command(tmp_path: Path) -> None:
    assert "make test" in blocks("sh")[0]
    copy_project(tmp_path / "clone")
    make = tmp_path / "bin" / "make"
    make.parent.mkdir()
    make.write_text('#!/bin/sh\necho "make $* in $PWD"\nexit 7\n')
    make.chmod(0o755)
    env = environ(tmp_path)
    env["PATH"] = f"{make.parent}:{env['PATH']}"
    done = subprocess.run([tmp_path / "clone" / ".ci" / "run"], cwd="/", env=env, capture_output=True, text=True)
    assert done.stdout == f"make test in {tmp_path / 'clone'}\n", done.stderr
    assert done.returncode == 7  # what fails there fails the build
