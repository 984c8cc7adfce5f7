"""Folders of agent files: what is edited applies without a restart, what is broken does no harm."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.runs.harness import eventually
from tests.support.gateway import Gateway, text_of

WITHIN = 0.25
"""Seconds until an edit is to be seen: what the gateway promises."""
BUSY = 8
"""A machine that runs all tests at once is slower so many times at most."""

ECHO = 'id = "{id}"\ndriver = "python"\nentry = "gateway_says:agent"\n{more}\n[identity]\nname = "{name}"\n'
CODE = "async def agent(turn):\n    yield 'here'\n"


def write(folder: Path, id_: str, name: str, more: str = "", file: str | None = None) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "gateway_says.py").write_text(CODE)
    path = folder / (file or f"{id_}.toml")
    path.write_text(ECHO.format(id=id_, name=name, more=more))
    return path


@pytest.fixture(params=["watched", "polled"])
def home(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Path, Gateway]]:
    """Once where the system reports changes, once where it does not."""
    agents = tmp_path / "agents"
    write(agents, "mine", "First")
    env = {"WATCHFILES_FORCE_POLLING": "1"} if request.param == "polled" else {}
    with Gateway(tmp_path / "home", "--agents", str(agents), env=env) as gateway:
        yield agents, gateway


def shown(gateway: Gateway, agent: str = "mine") -> Any:
    return gateway.client.get(f"/agents/{agent}").json()


def named(gateway: Gateway, name: str) -> Callable[[], bool]:
    return lambda: shown(gateway)["identity"]["name"] == name


def test_an_edit_is_seen_soon(home: tuple[Path, Gateway]) -> None:
    folder, gateway = home
    took = []
    for name in ("Second", "Third", "Fourth"):
        write(folder, "mine", name)
        began = time.monotonic()
        eventually(named(gateway, name))
        took.append(time.monotonic() - began)
    assert min(took) < WITHIN * BUSY
    assert text_of(gateway.run("mine")) == "here"


def test_a_new_file_is_an_agent_and_a_removed_one_takes_it_along(home: tuple[Path, Gateway]) -> None:
    folder, gateway = home
    path = write(folder, "other", "Other")
    eventually(lambda: gateway.client.get("/agents/other").status_code == 200)
    assert text_of(gateway.run("other")) == "here"
    path.unlink()
    eventually(lambda: gateway.client.get("/agents/other").status_code == 404)
    assert shown(gateway)["identity"]["name"] == "First"


def test_a_file_that_takes_another_id_is_another_agent(home: tuple[Path, Gateway]) -> None:
    folder, gateway = home
    write(folder, "renamed", "Renamed", file="mine.toml")
    eventually(lambda: gateway.client.get("/agents/renamed").status_code == 200)
    assert gateway.client.get("/agents/mine").status_code == 404


@pytest.mark.parametrize("broken", ['id = "mine', 'id = "mine"\ndriver = "python"\n', "colour = 3\n"])
def test_a_broken_file_is_reported_and_the_last_good_one_kept(tmp_path: Path, broken: str) -> None:
    folder = tmp_path / "agents"
    path = write(folder, "mine", "First")
    with Gateway(tmp_path / "home", "--agents", str(folder)) as gateway:
        path.write_text(broken)
        failure = eventually(lambda: shown(gateway).get("definition"))
        assert str(path) in failure["error"]
        assert failure["since"].startswith("20")
        assert (text_of(gateway.run("mine")), shown(gateway)["identity"]["name"]) == ("here", "First")
        assert gateway.log.read_text().count("last good definition is kept") == 1
        write(folder, "mine", "Corrected")
        eventually(named(gateway, "Corrected"))
        assert "definition" not in shown(gateway)


def test_a_live_run_is_not_touched_by_an_edit(home: tuple[Path, Gateway]) -> None:
    folder, gateway = home
    (folder / "waits.py").write_text(
        "import anyio\nfrom pathlib import Path\n"
        "async def agent(turn):\n    yield 'a'\n"
        "    while not Path(turn.text).exists():\n        await anyio.sleep(0.01)\n    yield 'b'\n"
    )
    text = ECHO.replace("gateway_says", "waits")
    (folder / "waits.toml").write_text(text.format(id="waits", name="Waits", more=""))
    eventually(lambda: gateway.client.get("/agents/waits").status_code == 200)
    go = folder.parent / "go"
    with gateway.stream("waits", str(go)) as events:
        next(event for event in events if event["type"] == "TEXT_MESSAGE_CONTENT")
        (folder / "waits.toml").unlink()
        eventually(lambda: gateway.client.get("/agents/waits").status_code == 404)
        go.touch()
        rest = list(events)
    assert (text_of(rest), rest[-1]["type"]) == ("b", "RUN_FINISHED")


def test_later_folders_are_laid_over_earlier_ones_and_over_what_comes_along(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    write(one, "echo", "One")
    path = write(two, "echo", "Two")
    with Gateway(tmp_path / "home", "--agents", str(one), "--agents", str(two)) as gateway:
        assert shown(gateway, "echo")["identity"]["name"] == "Two"
        path.unlink()
        eventually(lambda: shown(gateway, "echo")["identity"]["name"] == "One")
        (one / "echo.toml").unlink()
        eventually(lambda: shown(gateway, "echo")["identity"]["name"] == "Echo")


def test_a_folder_that_goes_keeps_its_agents_and_comes_back(home: tuple[Path, Gateway]) -> None:
    folder, gateway = home
    shutil.rmtree(folder)
    eventually(lambda: "the folder is missing" in gateway.log.read_text())
    assert shown(gateway)["identity"]["name"] == "First"
    write(folder, "mine", "Back")
    eventually(named(gateway, "Back"))


def test_the_files_are_left_alone_where_no_client_watches(tmp_path: Path) -> None:
    folder = tmp_path / "agents"
    path = write(folder, "mine", "First")
    with Gateway(tmp_path / "home", "--agents", str(folder), "--no-watch") as gateway:
        watched = tmp_path / "home2"
        write(folder, "mine", "Second")
        with Gateway(watched, "--agents", str(folder)) as other:  # it sees the next edit: then so would the first
            write(folder, "mine", "Third")
            eventually(named(other, "Third"))
        assert shown(gateway)["identity"]["name"] == "First"
        assert path.exists()
