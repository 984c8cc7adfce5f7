"""`agui-gateway capabilities`: values, their sources, and comparisons."""

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
from tests.cli.pseudo_terminal import Terminal, run_command
from tests.drivers.process_watch import until
from tests.support.gateway import Gateway

MODELS = [
    {"id": "otter-2", "thinking": True, "context": 200_000},
    {"id": "otter-1", "thinking": False, "context": 8_000},
]
TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    """Never started: only its directory of agents is used."""
    return Stage(tmp_path)


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with Gateway(tmp_path_factory.mktemp("served")) as served:
        yield served


def read_columns(home: Path, *arguments: str) -> list[list[str]]:
    """The cells of all rows, headings first."""
    result = run_command(home, "capabilities", *arguments)
    assert (result.returncode, result.stderr) == (0, ""), result.stderr
    return [re.split(r"\s{2,}", line) for line in result.stdout.splitlines()]


def test_in_a_pipe_every_capability_is_a_line_with_category_and_value(tmp_path: Path) -> None:
    heading, *rows = read_columns(tmp_path, "demo")
    assert heading == ["category", "capability", "value"]
    assert ["tools", "supported", "✓"] in rows
    assert ["tools", "items", "get_weather, delete_file, edit, shell, look_at"] in rows
    assert ["multimodal", "output.audio", "✗"] in rows


@pytest.mark.parametrize("colours", [True, False])
def test_in_a_terminal_it_is_a_tree_unless_colours_are_turned_off(tmp_path: Path, colours: bool) -> None:
    with Terminal(tmp_path, "capabilities", "demo", NO_COLOR="" if colours else "1") as terminal:
        assert terminal.end() == 0
    assert ("├── tools" in terminal.screen, "\x1b" in terminal.raw) == (colours, colours)
    assert ("\x1b[32m✓" in terminal.raw, "\x1b[31m✗" in terminal.raw) == (colours, colours)
    assert re.search(r"parallelCalls +✓", terminal.screen) and re.search(r"codeExecution +✗", terminal.screen)


def test_a_terminal_without_the_signs_gets_text(tmp_path: Path) -> None:
    result = run_command(tmp_path, "capabilities", "demo", "echo", env={"PYTHONIOENCODING": "ascii"})
    rows = [line.split() for line in result.stdout.splitlines()]
    assert ["tools.supported", "yes", "no"] in rows and ["state.memory", "no", "?"] in rows


def test_explain_shows_source_and_time_of_each_value(tmp_path: Path) -> None:
    heading, *rows = read_columns(tmp_path, "demo", "--explain")
    assert heading == ["category", "capability", "value", "source", "since", "overridden"]
    [supported] = [row for row in rows if row[:2] == ["tools", "supported"]]
    assert supported[2:4] == ["✓", "profile (demo.toml)"] and TIMESTAMP.fullmatch(supported[4])
    assert any(row[3].startswith("gateway (") for row in rows if row[0] == "transport")
    assert all(len(row) >= 5 for row in rows)


def test_a_probed_agent_overrides_its_file_and_is_stopped(stage: Stage) -> None:
    stage.agent("otter", "--bare", capabilities={"multimodal": {"input": {"image": True}}})
    rows = read_columns(stage.workspace, "otter", "--explain", "--probe", "--agents", str(stage.agents))
    [image] = [row for row in rows if row[:2] == ["multimodal", "input.image"]]
    assert image[2:4] == ["✗", "handshake (initialize, the agent's answer)"]
    assert re.fullmatch(rf"✓ from profile \(otter\.toml\) since {TIMESTAMP.pattern}", image[5])
    assert len(stage.received("otter", method="initialize")) == 1
    assert stage.processes("otter") == []


def test_in_a_terminal_overridden_values_are_below(stage: Stage) -> None:
    stage.agent("otter", "--bare", capabilities={"multimodal": {"input": {"image": True}}})
    line = ("capabilities", "otter", "--explain", "--probe", "--agents", str(stage.agents))
    with Terminal(stage.workspace, *line, NO_COLOR="") as terminal:
        assert terminal.end() == 0
    assert re.search(
        r"input\.image +✗  handshake .*\n.*└── overridden: ✓ from profile \(otter\.toml\)", terminal.screen
    )


def test_an_agent_that_cannot_be_started_is_a_failure_with_its_name(stage: Stage) -> None:
    stage.agent("otter", command={"run": ["no-such-otter"]})
    result = run_command(stage.workspace, "capabilities", "demo", "otter", "--probe", "--agents", str(stage.agents))
    assert (result.returncode, result.stdout) == (1, "")
    assert "otter: " in result.stderr and "no-such-otter" in result.stderr


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
        rows = read_columns(stage.workspace, "otter", "--model", model, "--agents", str(stage.agents))
        values = {(row[0], row[1]): row[2] for row in rows}
        return values["reasoning", "supported"], values["custom", "model.contextWindow"]

    assert (limits("otter-2"), limits("otter-1")) == (("✓", "200000"), ("✗", "8000"))


def test_another_view_has_another_vocabulary(tmp_path: Path) -> None:
    rows = read_columns(tmp_path, "demo", "--view", "mux")
    assert ["mux", "agent", "demo"] in rows and ["mux", "supportsImageInput", "✓"] in rows
    rows = read_columns(tmp_path, "demo", "--view", "acp")
    assert ["prompt", "text", "✓"] in rows and ["mcp", "http", "✗"] in rows
    assert "unknown" not in {row[1] for row in rows}


@pytest.mark.parametrize(("option", "query"), [((), ""), (("--view", "mux"), "?view=mux")])
def test_json_is_byte_for_byte_what_the_route_gives(
    gateway: Gateway, tmp_path: Path, option: tuple[str, ...], query: str
) -> None:
    body = gateway.client.get(f"/agents/demo/capabilities{query}").text
    assert run_command(tmp_path, "capabilities", "demo", "--json", *option).stdout == f"{body}\n"
    assert run_command(tmp_path, "capabilities", "demo", "--json", *option, "--url", gateway.url).stdout == f"{body}\n"


def test_json_of_several_agents_is_an_object_by_name(gateway: Gateway, tmp_path: Path) -> None:
    line = ("capabilities", "demo", "echo", "--json", "--explain", "--url", gateway.url)
    bodies = json.loads(run_command(tmp_path, *line).stdout)
    path = "/agents/{}/capabilities?explain=1"
    assert bodies == {name: gateway.client.get(path.format(name)).json() for name in ("demo", "echo")}


def test_a_comparison_shows_differences_and_a_dot_for_unknown(tmp_path: Path) -> None:
    heading, *rows = read_columns(tmp_path, "demo", "echo")
    assert heading == ["capability", "demo", "echo"]
    assert ["tools.supported", "✓", "✗"] in rows and ["state.memory", "✗", "·"] in rows
    assert all(demo != echo for _, demo, echo in rows)
    categories = [path.partition(".")[0] for path, *_ in rows]
    assert categories == sorted(categories, key=categories.index)  # each category in one block


def test_all_shows_equal_values_too(tmp_path: Path) -> None:
    rows = read_columns(tmp_path, "demo", "echo", "--all")
    assert ["transport.streaming", "✓", "✓"] in rows
    assert [row for row in rows if row[1] != row[2]] == read_columns(tmp_path, "demo", "echo")


def test_three_agents_are_compared_in_a_terminal(stage: Stage) -> None:
    stage.agent("otter", capabilities={"tools": {"supported": True}})
    line = ("capabilities", "demo", "echo", "otter", "--agents", str(stage.agents))
    with Terminal(stage.workspace, *line, NO_COLOR="") as terminal:
        assert terminal.end() == 0
    assert re.search(r"tools\.supported +✓ +✗ +✓", terminal.screen)
    assert re.search(r"\d+ of \d+ capabilities differ\. `--all` shows the others too\.", terminal.screen)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ((), 2, "Missing argument"),
        (("dmo",), 2, "Did you mean demo?"),
        (("demo", "ecko"), 2, "Did you mean echo?"),
        (("demo", "--view", "mux", "--explain"), 2, "omit --view mux"),
        (("demo", "--view", "otter"), 1, "there is no view 'otter'"),
        (("claude", "--model", "otter"), 1, "Model 'otter' not found"),
        (("demo", "--url", "nowhere"), 2, "--url nowhere: write it as"),
        (("demo", "--url", "http://127.0.0.1:1"), 1, "cannot be reached"),
        (("demo", "--url", "http://127.0.0.1:1", "--agents", "here"), 2, "omit --agents and --acp"),
    ],
)
def test_a_mistake_is_reported(tmp_path: Path, arguments: tuple[str, ...], code: int, message: str) -> None:
    result = run_command(tmp_path, "capabilities", *arguments)
    assert (result.returncode, result.stdout) == (code, "")
    assert message in " ".join(result.stderr.split()) and "Traceback" not in result.stderr


def test_an_agent_that_the_running_gateway_lacks_is_a_failure(gateway: Gateway, tmp_path: Path) -> None:
    result = run_command(tmp_path, "capabilities", "otter", "--url", gateway.url)
    assert (result.returncode, result.stdout) == (1, "")
    assert "there is no agent 'otter'" in result.stderr


class OtherServer(http.server.BaseHTTPRequestHandler):
    """A web server that is not a gateway."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"<h1>Welcome</h1>")

    def log_message(self, format: str, *args: Any) -> None:
        pass


def test_a_server_that_is_no_gateway_is_reported(tmp_path: Path) -> None:
    with http.server.HTTPServer(("127.0.0.1", 0), OtherServer) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            result = run_command(tmp_path, "capabilities", "demo", "--url", f"http://127.0.0.1:{server.server_port}")
        finally:
            server.shutdown()
            thread.join()
    assert (result.returncode, result.stdout) == (1, "")
    assert "does not answer like an agui-gateway" in result.stderr
