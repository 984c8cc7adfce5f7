"""`agui-gateway capabilities`: what an agent can do, who says so, and where several differ."""

from __future__ import annotations

import http.server
import json
import re
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.behaviour.acp.harness import Stage
from tests.cli.pseudo_terminal import Terminal, typed
from tests.drivers.process_watch import until
from tests.support.gateway import Gateway

MODELS = [
    {"id": "otter-2", "thinking": True, "context": 200_000},
    {"id": "otter-1", "thinking": False, "context": 8_000},
]
WHEN = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    """Never started: only its folder of agents is used."""
    return Stage(tmp_path)


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with Gateway(tmp_path_factory.mktemp("served")) as served:
        yield served


def shown(home: Path, *arguments: str) -> list[list[str]]:
    """The cells of what stands in columns, heading first."""
    done = typed(home, "capabilities", *arguments)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return [re.split(r"\s{2,}", line) for line in done.stdout.splitlines()]


def test_in_a_pipe_every_leaf_is_a_line_with_its_category_and_value(tmp_path: Path) -> None:
    heading, *rows = shown(tmp_path, "demo")
    assert heading == ["category", "capability", "value"]
    assert ["tools", "supported", "✓"] in rows
    assert ["tools", "items", "get_weather, delete_file, edit, shell, look_at"] in rows
    assert ["multimodal", "output.audio", "✗"] in rows


@pytest.mark.parametrize("colours", [True, False])
def test_at_a_terminal_it_is_a_tree_in_colours_unless_those_are_not_wanted(tmp_path: Path, colours: bool) -> None:
    with Terminal(tmp_path, "capabilities", "demo", NO_COLOR="" if colours else "1") as terminal:
        assert terminal.end() == 0
    assert ("├── tools" in terminal.screen, "\x1b" in terminal.raw) == (colours, colours)
    assert ("\x1b[32m✓" in terminal.raw, "\x1b[31m✗" in terminal.raw) == (colours, colours)
    assert re.search(r"parallelCalls +✓", terminal.screen) and re.search(r"codeExecution +✗", terminal.screen)


def test_a_screen_without_the_signs_gets_words(tmp_path: Path) -> None:
    done = typed(tmp_path, "capabilities", "demo", "echo", env={"PYTHONIOENCODING": "ascii"})
    rows = [line.split() for line in done.stdout.splitlines()]
    assert ["tools.supported", "yes", "no"] in rows and ["tools.parallelCalls", "yes", "?"] in rows


def test_explained_each_value_has_who_said_it_and_when(tmp_path: Path) -> None:
    heading, *rows = shown(tmp_path, "demo", "--explain")
    assert heading == ["category", "capability", "value", "source", "since", "overridden"]
    [supported] = [row for row in rows if row[:2] == ["tools", "supported"]]
    assert supported[2:4] == ["✓", "profile (demo.toml)"] and WHEN.fullmatch(supported[4])
    assert any(row[3].startswith("gateway (") for row in rows if row[0] == "transport")
    assert all(len(row) >= 5 for row in rows)


def test_an_agent_that_is_started_first_overrules_its_file_and_is_ended(stage: Stage) -> None:
    stage.agent("otter", capabilities={"multimodal": {"input": {"image": False}}})
    rows = shown(stage.workspace, "otter", "--explain", "--probe", "--agents", str(stage.agents))
    [image] = [row for row in rows if row[:2] == ["multimodal", "input.image"]]
    assert image[2:4] == ["✓", "handshake (initialize, the agent's answer)"]
    assert re.fullmatch(rf"✗ by profile \(otter\.toml\) at {WHEN.pattern}", image[5])
    assert len(stage.received("otter", method="initialize")) == 1
    assert stage.processes("otter") == []


def test_at_a_terminal_what_was_overruled_stands_below(stage: Stage) -> None:
    stage.agent("otter", capabilities={"multimodal": {"input": {"image": False}}})
    line = ("capabilities", "otter", "--explain", "--probe", "--agents", str(stage.agents))
    with Terminal(stage.workspace, *line, NO_COLOR="") as terminal:
        assert terminal.end() == 0
    assert re.search(r"input\.image +✓  handshake .*\n.*└── overruled: ✗ by profile \(otter\.toml\)", terminal.screen)


def test_an_agent_that_cannot_be_started_is_a_failure_with_its_name(stage: Stage) -> None:
    stage.agent("otter", command={"run": ["no-such-otter"]})
    done = typed(stage.workspace, "capabilities", "demo", "otter", "--probe", "--agents", str(stage.agents))
    assert (done.returncode, done.stdout) == (1, "")
    assert "otter: " in done.stderr and "no-such-otter" in done.stderr


def test_ctrl_c_ends_the_wait_and_the_agent(stage: Stage) -> None:
    stage.agent("otter", "--never-initialize")
    line = ("capabilities", "otter", "--probe", "--agents", str(stage.agents))
    with Terminal(stage.workspace, *line, NO_COLOR="") as terminal:
        terminal.until("starting otter")
        until(lambda: bool(stage.received("otter", method="initialize")))
        terminal.press("\x03")
        assert terminal.end() == 130
    assert "cancelled" in terminal.screen and "Traceback" not in terminal.screen
    assert stage.processes("otter") == []


def test_a_model_has_limits_of_its_own(stage: Stage) -> None:
    stage.agent("otter", models=MODELS)

    def limits(model: str) -> tuple[str, str]:
        rows = shown(stage.workspace, "otter", "--model", model, "--agents", str(stage.agents))
        values = {(row[0], row[1]): row[2] for row in rows}
        return values["reasoning", "supported"], values["custom", "model.contextWindow"]

    assert (limits("otter-2"), limits("otter-1")) == (("✓", "200000"), ("✗", "8000"))


def test_another_view_has_other_words(tmp_path: Path) -> None:
    rows = shown(tmp_path, "demo", "--view", "mux")
    assert ["mux", "agent", "demo"] in rows and ["mux", "supportsImageInput", "✓"] in rows
    rows = shown(tmp_path, "demo", "--view", "acp")
    assert ["prompt", "text", "✓"] in rows and ["mcp", "http", "✗"] in rows
    assert not {"forkSession", "unknown"} & {row[1] for row in rows}  # nobody knows, so it is no ✗


@pytest.mark.parametrize(("option", "query"), [((), ""), (("--view", "mux"), "?view=mux")])
def test_json_is_byte_for_byte_what_the_route_gives(
    gateway: Gateway, tmp_path: Path, option: tuple[str, ...], query: str
) -> None:
    there = gateway.client.get(f"/agents/demo/capabilities{query}").text
    assert typed(tmp_path, "capabilities", "demo", "--json", *option).stdout == f"{there}\n"
    assert typed(tmp_path, "capabilities", "demo", "--json", *option, "--url", gateway.url).stdout == f"{there}\n"


def test_json_of_several_has_each_by_its_name(gateway: Gateway, tmp_path: Path) -> None:
    line = ("capabilities", "demo", "echo", "--json", "--explain", "--url", gateway.url)
    told = json.loads(typed(tmp_path, *line).stdout)
    path = "/agents/{}/capabilities?explain=1"
    assert told == {name: gateway.client.get(path.format(name)).json() for name in ("demo", "echo")}


def test_side_by_side_only_differences_are_shown_and_a_dot_is_what_nobody_knows(tmp_path: Path) -> None:
    heading, *rows = shown(tmp_path, "demo", "echo")
    assert heading == ["capability", "demo", "echo"]
    assert ["tools.supported", "✓", "✗"] in rows and ["tools.parallelCalls", "✓", "·"] in rows
    assert all(demo != echo for _, demo, echo in rows)
    categories = [path.partition(".")[0] for path, *_ in rows]
    assert categories == sorted(categories, key=categories.index)  # each in one piece


def test_all_shows_what_is_the_same_too(tmp_path: Path) -> None:
    every = shown(tmp_path, "demo", "echo", "--all")
    assert ["transport.streaming", "✓", "✓"] in every
    assert [row for row in every if row[1] != row[2]] == shown(tmp_path, "demo", "echo")


def test_three_stand_side_by_side_at_a_terminal(stage: Stage) -> None:
    stage.agent("otter", capabilities={"tools": {"supported": True}})
    line = ("capabilities", "demo", "echo", "otter", "--agents", str(stage.agents))
    with Terminal(stage.workspace, *line, NO_COLOR="") as terminal:
        assert terminal.end() == 0
    assert re.search(r"tools\.supported +✓ +✗ +✓", terminal.screen)
    assert re.search(r"\d+ of \d+ capabilities differ\. `--all` shows every one\.", terminal.screen)


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        ((), 2, "Missing argument"),
        (("dmo",), 2, "Did you mean demo?"),
        (("demo", "ecko"), 2, "Did you mean echo?"),
        (("demo", "--view", "mux", "--explain"), 2, "leave out --view mux"),
        (("demo", "--view", "otter"), 1, "there is no view 'otter'"),
        (("claude", "--model", "otter"), 1, "Model 'otter' not found"),
        (("demo", "--url", "nowhere"), 2, "--url nowhere: write it as"),
        (("demo", "--url", "http://127.0.0.1:1"), 1, "cannot be reached"),
        (("demo", "--url", "http://127.0.0.1:1", "--agents", "here"), 2, "leave out --agents and --acp"),
    ],
)
def test_a_mistake_is_told(tmp_path: Path, arguments: tuple[str, ...], code: int, says: str) -> None:
    done = typed(tmp_path, "capabilities", *arguments)
    assert (done.returncode, done.stdout) == (code, "")
    assert says in " ".join(done.stderr.split()) and "Traceback" not in done.stderr


def test_an_agent_that_a_running_gateway_has_not_is_a_failure(gateway: Gateway, tmp_path: Path) -> None:
    done = typed(tmp_path, "capabilities", "otter", "--url", gateway.url)
    assert (done.returncode, done.stdout) == (1, "")
    assert "there is no agent 'otter'" in done.stderr


class Elsewhere(http.server.BaseHTTPRequestHandler):
    """Answers everybody, and is no gateway."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"<h1>Welcome</h1>")

    def log_message(self, format: str, *args: Any) -> None:
        pass


def test_what_is_no_gateway_is_told_from_one(tmp_path: Path) -> None:
    with http.server.HTTPServer(("127.0.0.1", 0), Elsewhere) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            done = typed(tmp_path, "capabilities", "demo", "--url", f"http://127.0.0.1:{server.server_port}")
        finally:
            server.shutdown()
            thread.join()
    assert (done.returncode, done.stdout) == (1, "")
    assert "is that an agui-gateway?" in done.stderr
