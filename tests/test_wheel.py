"""The wheel: it holds all that the gateway needs and nothing else, and it works where there is no checkout."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from zipfile import ZipFile

import httpx
import pytest

from gateway import __version__
from tests.support.gateway import events_of, run_input, text_of, types_of
from tests.support.project import INSTALL_LIMIT, copy_project, environ, made_once, run, serving


def make(folder: Path) -> None:
    """`dist/` with the wheel, `venv/` with nothing but it and what it depends on."""
    copy_project(folder / "project")
    # What an agent that has run leaves in its folder is nobody else's business.
    cache = folder / "project" / "agents" / "__pycache__"
    cache.mkdir()
    (cache / "echo.cpython-311.pyc").write_bytes(b"stale")
    env = environ(folder)
    pip = [sys.executable, "-m", "pip", "--quiet"]
    run([*pip, "wheel", "--no-deps", "--wheel-dir", "../dist", "."], folder / "project", env, INSTALL_LIMIT)
    run([sys.executable, "-m", "venv", "--without-pip", "venv"], folder, env, INSTALL_LIMIT)
    python = str(folder / "venv" / "bin" / "python")
    run([*pip, "--python", python, "install", str(wheel_in(folder))], folder, env, INSTALL_LIMIT)


def wheel_in(folder: Path) -> Path:
    [found] = (folder / "dist").glob("*.whl")
    return found


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_once(tmp_path_factory, "wheel", make)


@pytest.fixture
def names(built: Path) -> set[str]:
    with ZipFile(wheel_in(built)) as wheel:
        return set(wheel.namelist())


def tree(project: Path, folder: str) -> set[str]:
    """The files below `folder`, but for what Python keeps beside them."""
    found = {path.relative_to(project) for path in (project / folder).rglob("*") if path.is_file()}
    return {path.as_posix() for path in found if "__pycache__" not in path.parts}


def test_it_holds_the_gateway_and_its_agents_and_nothing_else(built: Path, names: set[str]) -> None:
    code = tree(built / "project", "gateway")
    agents = {f"gateway/_{name}" for name in tree(built / "project", "agents")}
    assert {"gateway/_agents/demo.toml", "gateway/_agents/demo/__init__.py", "gateway/_agents/echo.py"} <= agents
    assert {"gateway/console/index.html", "gateway/console/main.js", "gateway/console/css/base.css"} <= code
    info = {name for name in names if name.startswith(f"agui_gateway-{__version__}.dist-info/")}
    assert names - info == code | agents


def test_it_brings_its_license_and_its_types(names: set[str]) -> None:
    assert {"gateway/py.typed", f"agui_gateway-{__version__}.dist-info/licenses/LICENSE"} <= names


def test_its_command_tells_its_version(built: Path, tmp_path: Path) -> None:
    command = str(built / "venv" / "bin" / "agui-gateway")
    assert run([command, "--version"], tmp_path, environ(tmp_path)) == f"agui-gateway, version {__version__}\n"


def test_it_serves_its_agents_from_an_empty_folder(built: Path, tmp_path: Path) -> None:
    command = [str(built / "venv" / "bin" / "agui-gateway"), "serve", "--port", "0"]
    empty = tmp_path / "empty"
    empty.mkdir()
    with (
        serving(command, empty, environ(tmp_path / "home")) as served,
        httpx.Client(base_url=served.url, trust_env=False, timeout=30) as client,
    ):
        agents = {agent["id"]: agent["availability"]["status"] for agent in client.get("/agents").json()["agents"]}
        page = client.get("/", headers={"accept": "text/html"}).text
        parts = [client.get(f"/{name}").status_code for name in re.findall(r'(?:href|src)="(console/[^"]+)"', page)]
        events = events_of(client.post("/agents/echo", json=run_input("Hello, wheel")).text)
    assert {"demo": "ready", "echo": "ready"}.items() <= agents.items()
    assert (types_of(events)[-1], text_of(events)) == ("RUN_FINISHED", "Hello, wheel ")
    assert len(parts) > 3
    assert set(parts) == {200}
    assert list(empty.iterdir()) == []  # what it keeps, it keeps in the data directory
