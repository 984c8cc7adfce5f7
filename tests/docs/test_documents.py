"""What README and documentation show is so: their tables, links, names and commands."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner
from pydantic import BaseModel

from gateway.catalog.definition import AgentDefinition
from gateway.cli import main
from gateway.cli.commands.serve import command as serve_command
from gateway.settings import ENV_PREFIX, Settings
from tests.cli.pseudo_terminal import Terminal
from tests.docs.generate import DOCS, PAGES
from tests.support.gateway import Gateway, events_of, numbers_of, run_input, text_of
from tests.support.project import ROOT, copy_project, environ, make_serve, run, served_clone
from tests.support.routes import endpoints

README = ROOT / "README.md"
PAGES_BY_HAND = [path for path in sorted(DOCS.glob("*.md")) if path.name not in PAGES]
BY_HAND = [README, ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *PAGES_BY_HAND]
"""Documents that people write. The others are generated."""
MAX_README_LINES = 150
FIRST_SCREEN_LINES = 55
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
CODE = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\]\(([^)\s]+)\)")
ADDRESS = f"http://127.0.0.1:{Settings().port}"
CURLRC = "fail\nsilent\nshow-error\nmax-time = 60\nnoproxy = *\n"
"""A status of 400 or more is a failure; the user's own .curlrc and proxy are not used."""

CAREFUL_IMPORTS = """\
from collections.abc import AsyncGenerator, Mapping

from gateway import Answer, Interrupt, InterruptRequested, Turn


"""


def text(path: Path) -> str:
    return path.read_text("utf-8")


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def blocks(path: Path, language: str) -> list[str]:
    return [body for found, body in FENCE.findall(text(path)) if found == language]


def inline(path: Path) -> list[str]:
    """What stands in backticks in prose and tables."""
    return CODE.findall(FENCE.sub("", text(path)))


def all_inline() -> list[str]:
    return [code for path in BY_HAND for code in inline(path)]


# -- README


def test_the_readme_is_short() -> None:
    assert len(text(README).splitlines()) <= MAX_README_LINES


def test_the_readme_opens_with_one_sentence() -> None:
    title, blank, *rest = text(README).splitlines()
    sentence = " ".join(rest[: rest.index("")])
    assert (title, blank) == ("# agui-gateway", "")
    assert re.findall(r"\.(?=\s|$)", sentence) == ["."]
    assert sentence.endswith(".")


def test_the_picture_the_commands_and_the_first_curl_are_on_the_first_screen() -> None:
    screen = text(README).splitlines()[:FIRST_SCREEN_LINES]
    order = [
        next(number for number, line in enumerate(screen) if line.startswith(start))
        for start in ("client ──HTTP──▶", "make serve", "make test", f"curl -N {ADDRESS}/agents/echo", "id: 1")
    ]
    assert order == sorted(order)
    assert f"prints {ADDRESS}" in screen[order[1]]


def test_the_readme_counts_the_agents_right() -> None:
    drivers = [tomllib_driver(path) for path in (ROOT / "agents").glob("*.toml")]
    count = {driver: drivers.count(driver) for driver in drivers}
    words = {10: "ten", 17: "seventeen", 29: "Twenty-nine"}
    readme = " ".join(text(README).split())
    assert f"{words[len(drivers)]} agents are here as data" in readme
    assert count["python"] == 2
    assert f"{words[len(drivers) - 2 - 17]} command-line agents" in readme


def tomllib_driver(path: Path) -> str:
    import tomllib

    driver: str = tomllib.loads(text(path))["driver"]
    return driver


# -- at the terminal


def test_what_a_run_looks_like_is_what_one_sees(tmp_path: Path) -> None:
    [recorded] = [block for block in blocks(DOCS / "quickstart.md", "text") if block.startswith("$ agui-gateway run")]
    command, _, expected = recorded.partition("\n")
    with Terminal(tmp_path, *shlex.split(command)[2:]) as terminal:
        assert terminal.end() == 0
    shown = terminal.screen.partition("To continue: ")[0]
    assert [without_time(line) for line in shown.splitlines()] == [without_time(line) for line in expected.splitlines()]


def without_time(line: str) -> str:
    return re.sub(r"^[0-9.]+ s$", "… s", line.rstrip())


# -- tables, files, links


@pytest.mark.parametrize("name", ["agents/echo.toml", "agents/echo.py"])
def test_the_agent_shown_is_the_one_that_is_bundled(name: str) -> None:
    bodies = [body for _, body in FENCE.findall(text(DOCS / "adding-an-agent.md"))]
    [shown] = [body for body in bodies if body.startswith(f"# {name}\n")]
    assert shown.removeprefix(f"# {name}\n") == (ROOT / name).read_text("utf-8")


def without_names(path: str) -> str:
    return re.sub(r"\{.*?\}", "{}", path)


def documented_routes() -> list[tuple[str, str]]:
    """(method, path) of the routes' table. A row may leave the method out, and `…` stands for the folder before."""
    [table] = re.findall(r"^\| Route \| What \|\n.*\n((?:\|.*\n)+)", text(DOCS / "http-api.md"), re.M)
    found: list[tuple[str, str]] = []
    folder = ""
    for code in (code for row in table.splitlines() for code in CODE.findall(row.split(" | ")[0])):
        method, _, path = code.rpartition(" ")
        path = path.replace("…", folder)
        folder = path.rpartition("/")[0] if "…" not in code else folder
        found.append((method, without_names(path)))
    return found


def test_the_routes_table_has_every_route_and_no_other() -> None:
    real = {(method, without_names(path)) for method, path in endpoints()}
    shown = set(documented_routes())
    missing = {(method, path) for method, path in real if not {(method, path), ("", path)} & shown}
    assert missing == set(), "routes that the documentation does not have"
    assert shown - real - {("", path) for _, path in real} == set(), "routes that only the documentation has"


def anchors(path: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", text(path)), re.M)
    return {re.sub(r"[^\w\s-]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", [*BY_HAND, *(DOCS / name for name in PAGES)], ids=name_of)
def test_every_link_into_the_project_leads_somewhere(path: Path) -> None:
    broken = []
    for link in (link for link in LINK.findall(text(path)) if "://" not in link):
        target, _, anchor = link.partition("#")
        file = (path.parent / target).resolve() if target else path
        if not file.exists() or (anchor and anchor not in anchors(file)):
            broken.append(link)
    assert broken == []


def test_every_page_is_in_the_navigation() -> None:
    named = set(re.findall(r'= "([\w-]+\.md)"', text(DOCS / "zensical.toml")))
    assert named == {path.name for path in DOCS.glob("*.md")}


# -- names


def keys_of(model: type[BaseModel]) -> Iterator[str]:
    """The model's keys and those of the models inside it."""
    seen: set[Any] = set()
    ahead: list[Any] = [model]
    while ahead:
        current = ahead.pop()
        if isinstance(current, type) and issubclass(current, BaseModel) and current not in seen:
            seen.add(current)
            yield from current.model_fields
            ahead += [field.annotation for field in current.model_fields.values()]
        else:
            ahead += getattr(current, "__args__", ())


KEYS = {*Settings.model_fields, *keys_of(AgentDefinition)}


def test_every_setting_and_key_that_is_named_exists() -> None:
    names = [code for code in all_inline() if re.fullmatch(r"[a-z]+(_[a-z]+)+", code)]
    modules = {path.stem for path in (ROOT / "gateway").rglob("*.py")} | {
        path.name for path in (ROOT / "gateway").iterdir()
    }
    seam = set(re.findall(r"\w+", (ROOT / "gateway" / "wire" / "dialects" / "base.py").read_text("utf-8")))
    assert {"interrupt_ttl", "retain_seconds", "retain_bytes"} <= set(names)
    assert [name for name in names if name not in KEYS | modules | seam | {"ag_ui"}] == []


def test_every_environment_variable_that_is_named_sets_something() -> None:
    names = [name for path in BY_HAND for name in re.findall(rf"{ENV_PREFIX}([A-Z_]+)", text(path))]
    assert [name for name in names if name.lower() not in Settings.model_fields] == []


def test_every_key_that_is_shown_belongs_to_the_settings_or_to_an_agent_file() -> None:
    keys = [found[1] for code in all_inline() if (found := re.match(r"(\w+) = ", code))]
    assert {"merge", "capabilities_entry"} <= set(keys)
    assert [key for key in keys if key not in KEYS] == []


def serve_options() -> dict[str, str | None]:
    """Option of `serve` → the setting behind it."""
    return {name: param.name for param in serve_command.params for name in param.opts}


def commands_there_are() -> list[str]:
    return main.list_commands(click.Context(main))


def all_options() -> set[str]:
    context = click.Context(main)
    found = [main.get_command(context, name) for name in commands_there_are()]
    found += [each for group in found if isinstance(group, click.Group) for each in group.commands.values()]
    return {name for command in found if command is not None for param in command.params for name in param.opts}


def test_every_option_that_is_named_exists() -> None:
    named = {found for code in all_inline() for found in re.findall(r"(?<!\S)--[a-z-]+", code)}
    assert {"--agents", "--allow-origin", "--host", "--store", "--token-file", "--thread", "--url"} <= named
    assert named - all_options() - {"--help", "--acp"} == set()


def test_help_has_every_option_and_each_is_a_setting() -> None:
    help_text = CliRunner().invoke(main, ["serve", "--help"]).output
    listed = re.findall(r"^  (--[a-z-]+)(?: +\S+)? {2,}\S", help_text, re.M)
    assert sorted(listed) == sorted(serve_options())
    assert {name for name in serve_options().values() if name not in Settings.model_fields} == {"verbose"}


# -- commands


def terminal_commands() -> list[str]:
    """The gateway's own commands of all `sh` blocks, without their comments, each once."""
    lines = [line for path in BY_HAND for block in blocks(path, "sh") for line in block.splitlines()]
    own = [line for line in lines if line.startswith("agui-gateway ")]
    return list(dict.fromkeys(shlex.join(shlex.split(line, comments=True)) for line in own))


@pytest.mark.parametrize("line", terminal_commands())
def test_every_command_of_the_terminal_works(line: str, tmp_path: Path) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    name, *arguments = (word.replace("~/", f"{home}/", 1) for word in shlex.split(line))  # as a shell does
    assert (name, arguments[0] in commands_there_are()) == ("agui-gateway", True)
    command = [sys.executable, "-m", "gateway", *arguments]
    project.mkdir()
    shutil.copytree(ROOT / "agents", home / "my-agents")
    (home / "my-project").mkdir()
    env = environ(home, HOME=str(home), XDG_CONFIG_HOME=str(home / ".config"))
    done = subprocess.run(command, env=env, cwd=project, capture_output=True, text=True, timeout=60)
    # What a doctor finds depends on the machine.
    assert done.returncode in ((0, 1) if arguments[0] == "doctor" else (0,)), done.stderr
    assert "Traceback" not in done.stderr and (done.stdout or done.stderr)


NEED_MORE = {"serve", "audit", "login", "plugins"}
"""Commands that run for ever, or need a running gateway or an account: they are shown, but not run here."""


def test_every_command_there_is_is_shown() -> None:
    assert {shlex.split(line)[1] for line in terminal_commands()} == {*commands_there_are()} - NEED_MORE
    text = "\n".join((ROOT / path).read_text("utf-8") for path in BY_HAND)
    assert [name for name in NEED_MORE if f"agui-gateway {name}" not in text] == []


def curl_commands() -> list[str]:
    """The `curl` commands of all `sh` blocks, each once, in order. One may go on over several lines."""
    found: list[str] = []
    for block in (block for path in BY_HAND for block in blocks(path, "sh")):
        lines = iter(block.splitlines())
        for line in lines:
            while not is_complete(line):
                line += "\n" + next(lines)
            found.append(line)
    return list(dict.fromkeys(command for command in found if command.startswith("curl ")))


def is_complete(command: str) -> bool:
    """Whether every quote is closed."""
    try:
        shlex.split(command, comments=True)
    except ValueError:
        return False
    return True


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What each command prints, one after the other, at a gateway that was started as the README says."""
    home = tmp_path_factory.mktemp("documents")
    (home / ".curlrc").write_text(CURLRC)
    env = environ(home, CURL_HOME=str(home))
    commands = sorted(curl_commands(), key=lambda command: "/runs/" in command)
    with make_serve(served_clone(tmp_path_factory), home) as served:
        return {command: run(["sh", "-c", command.replace(ADDRESS, served.url)], home, env) for command in commands}


def test_the_first_command_prints_what_is_shown_below_it(answers: dict[str, str]) -> None:
    printed = answers[curl_commands()[0]]
    [shown] = [block for block in blocks(README, "text") if block.startswith("id: 1")]
    ids = [set(re.findall(r'"messageId":"(.*?)"', stream)) for stream in (shown, printed)]
    assert [len(found) for found in ids] == [1, 1]
    assert printed.replace(ids[1].pop(), ids[0].pop()).rstrip("\n") == shown.rstrip("\n")


def test_every_curl_command_gets_an_answer(answers: dict[str, str]) -> None:
    assert len(answers) > 10
    for command, answer in answers.items():
        if "curl -N" in command or "/events" in command:
            assert events_of(answer)[-1]["type"] == "RUN_FINISHED", command
        else:
            assert isinstance(json.loads(answer), dict), command


def test_a_run_is_attached_to_from_where_the_command_says(answers: dict[str, str]) -> None:
    [again] = [answer for command, answer in answers.items() if "/events?after=3" in command]
    [whole] = [answer for command, answer in answers.items() if '"runId": "r2"' in command]
    assert numbers_of(again) == [number for number in numbers_of(whole) if number > 3]


def test_the_agent_that_asks_really_asks(tmp_path: Path) -> None:
    [snippet] = [block for block in blocks(DOCS / "adding-an-agent.md", "python") if "def careful" in block]
    agents = tmp_path / "my-agents"
    agents.mkdir()
    (agents / "careful.py").write_text(CAREFUL_IMPORTS + snippet)
    (agents / "careful.toml").write_text(
        'id = "careful"\ndriver = "python"\nentry = "careful:careful"\n[identity]\nname = "Careful"\n'
    )
    with Gateway(tmp_path / "home", "--agents", str(agents)) as gateway:
        texts = [answer_with(gateway, status) for status in ("resolved", "cancelled")]
    assert texts == ["Done.", "Left alone."]


def answer_with(gateway: Gateway, status: str) -> str:
    first = run_input("Delete it all")
    [interrupt] = events_of(gateway.post("careful", first).text)[-1]["outcome"]["interrupts"]
    assert interrupt["message"] == "Sure?"
    resume = [{"interruptId": interrupt["id"], "status": status}]
    return text_of(gateway.run("careful", threadId=first["threadId"], messages=first["messages"], resume=resume))


def toml_examples() -> list[str]:
    bodies = [block for path in PAGES_BY_HAND for block in blocks(path, "toml")]
    return [body for body in bodies if body.startswith("id = ")]


@pytest.mark.parametrize("body", toml_examples(), ids=lambda body: body.splitlines()[0])
def test_every_agent_file_that_is_shown_is_valid(body: str, tmp_path: Path) -> None:
    from gateway.catalog.load import load_folder

    agent_id = body.splitlines()[0].split('"')[1]
    (tmp_path / f"{agent_id}.toml").write_text(body)
    assert list(load_folder(tmp_path)) == [agent_id]


def test_continuous_integration_runs_the_test_command_first(tmp_path: Path) -> None:
    copy_project(tmp_path / "clone")
    make = tmp_path / "bin" / "make"
    make.parent.mkdir()
    make.write_text('#!/bin/sh\necho "make $* in $PWD"\nexit 7\n')
    make.chmod(0o755)
    env = environ(tmp_path)
    env["PATH"] = f"{make.parent}:{env['PATH']}"
    done = subprocess.run([tmp_path / "clone" / ".ci" / "run"], cwd="/", env=env, capture_output=True, text=True)
    assert done.stdout == f"make test in {tmp_path / 'clone'}\n", done.stderr
    assert done.returncode == 7  # a failure there fails the build
