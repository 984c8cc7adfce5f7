"""What an agent asks of files and terminals stays inside the workspace, whatever path it names and however links
change."""

from __future__ import annotations

import itertools
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.behaviour.acp.harness import Stage, Talk, json_of
from tests.web.problem import problem_in

SECRET = "the secret outside"
REFUSED, MISSING = -32602, -32002


class Place:
    """A folder inside the workspace, a secret outside, and an agent that works in the folder."""

    def __init__(self, stage: Stage, name: str) -> None:
        self.inside, self.outside = stage.workspace / name, stage.workspace.parent / f"{name}-outside"
        for folder in (self.inside, self.outside):
            folder.mkdir()
        self.secret = self.outside / "secret.txt"
        self.secret.write_text(SECRET)
        (self.inside / "a.txt").write_text("one\ntwo\nthree\n")
        self.talk = Talk(stage, cwd=name)

    def read(self, path: Path | str, count: int = 1) -> list[Any]:
        """Every different answer that the agent got."""
        found: list[Any] = json_of(self.talk.say(f"read {path} {count}"))
        return found

    def write(self, path: Path | str, count: int = 1) -> list[Any]:
        found: list[Any] = json_of(self.talk.say(f"write {path} overwritten {count}"))
        return found


@pytest.fixture
def place(stage: Stage) -> Place:
    return Place(stage, f"place-{uuid4().hex[:8]}")


def codes(answers: list[Any]) -> list[int]:
    return [answer.get("code") for answer in answers]


# -- what is allowed


def test_a_file_inside_is_read_whole_or_in_part(place: Place) -> None:
    path = place.inside / "a.txt"
    assert place.read(path) == [{"content": "one\ntwo\nthree\n"}]
    assert json_of(place.talk.say(f"lines {path} 2 1")) == {"content": "two\n"}
    assert json_of(place.talk.say(f"lines {path} 9 1")) == {"content": ""}


def test_a_line_ends_where_editors_end_it(place: Place) -> None:
    (place.inside / "b.txt").write_text("a\x0cb\u2028c\nd\n")
    assert json_of(place.talk.say(f"lines {place.inside / 'b.txt'} 2 5")) == {"content": "d\n"}


def test_a_file_inside_is_written_and_made(place: Place) -> None:
    for name in ("a.txt", "new.txt"):
        assert place.write(place.inside / name) == [{}]
        assert (place.inside / name).read_text() == "overwritten"


def test_a_link_that_stays_inside_is_followed(place: Place) -> None:
    (place.inside / "link").symlink_to("a.txt")
    assert place.read(place.inside / "link") == [{"content": "one\ntwo\nthree\n"}]


def test_a_missing_file_is_reported_as_missing(place: Place) -> None:
    assert codes(place.read(place.inside / "none.txt")) == [MISSING]
    assert codes(place.write(place.inside / "none" / "a.txt")) == [MISSING]


def test_a_run_may_add_directories(place: Place, stage: Stage) -> None:
    (stage.workspace / "added").mkdir()
    (stage.workspace / "added" / "b.txt").write_text("added")
    talk = Talk(stage, cwd=place.inside.name, additionalDirectories=["added"])
    assert json_of(talk.say(f"read {stage.workspace / 'added' / 'b.txt'}")) == [{"content": "added"}]


# -- what is refused

WAYS_OUT: dict[str, Callable[[Place], str]] = {
    "absolute": lambda place: str(place.secret),
    "up": lambda place: f"{place.inside}/../../{place.outside.name}/secret.txt",
    "neighbour": lambda place: f"{place.inside.parent}/a.txt",
    "prefix": lambda place: f"{place.inside}-outside/secret.txt",
    "relative": lambda place: "a.txt",
    "link": lambda place: link(place, place.secret),
    "link-in-link": lambda place: link(place, Path(link(place, place.secret, "first"))),
    "folder-link": lambda place: link(place, place.outside) + "/secret.txt",
    "folder-link-up": lambda place: link(place, place.outside) + f"/../{place.outside.name}/secret.txt",
    "own-root": lambda place: f"/proc/self/root{place.secret}",
    "device": lambda place: "/dev/zero",
    "device-link": lambda place: link(place, Path("/dev/zero")),
    "memory": lambda place: "/proc/self/environ",
    "nothing": lambda place: "/",
}


def link(place: Place, target: Path, name: str = "link") -> str:
    path = place.inside / name
    path.symlink_to(target)
    return str(path)


@pytest.mark.parametrize("way", WAYS_OUT)
def test_no_way_out_is_read(place: Place, way: str) -> None:
    answers = place.read(WAYS_OUT[way](place))
    assert codes(answers) == [REFUSED]
    assert SECRET not in str(answers)


@pytest.mark.parametrize("way", WAYS_OUT)
def test_no_way_out_is_written(place: Place, way: str) -> None:
    assert codes(place.write(WAYS_OUT[way](place))) == [REFUSED]
    assert place.secret.read_text() == SECRET


def test_a_dangling_link_makes_no_file_outside(place: Place) -> None:
    new = place.outside / "new.txt"
    assert codes(place.write(link(place, new))) == [REFUSED]
    assert not new.exists()


@pytest.mark.parametrize("kind", ["fifo", "socket", "folder"])
def test_what_is_no_file_is_refused_at_once(place: Place, kind: str) -> None:
    path = place.inside / kind
    with socket.socket(socket.AF_UNIX) as listener:
        if kind == "fifo":
            os.mkfifo(path)
        elif kind == "socket":
            bind(listener, path)
        else:
            path.mkdir()
        assert codes(place.read(path)) == [REFUSED]
        assert codes(place.write(path)) == [REFUSED]


def bind(listener: socket.socket, path: Path) -> None:
    """By a short name: a socket's may have 108 characters only."""
    folder = os.open(path.parent, os.O_RDONLY)
    listener.bind(f"/proc/self/fd/{folder}/{path.name}")
    os.close(folder)


@pytest.mark.parametrize("device", ["zero", "null", "tty"])
def test_a_device_is_no_file_even_inside(devices: Stage, device: str) -> None:
    talk = Talk(devices, cwd="/dev")
    assert codes(json_of(talk.say(f"read /dev/{device}"))) == [REFUSED]
    assert codes(json_of(talk.say(f"write /dev/{device} words"))) == [REFUSED]


@pytest.fixture(scope="module")
def devices(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with Stage(tmp_path_factory.mktemp("devices"), "--workspace", "/dev").agent("plain", acp={"fs": True}) as stage:
        yield stage


# -- what moves meanwhile


@contextmanager
def flipping(path: Path, real: Path, link: Path) -> Iterator[None]:
    """Another process puts the one and the other in this place, as fast as it goes."""
    over = threading.Event()
    real.rename(path)

    def flip() -> None:
        for away, here in itertools.cycle([(real, link), (link, real)]):
            path.rename(away)
            here.rename(path)
            if over.is_set():
                return

    thread = threading.Thread(target=flip)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def test_a_file_that_is_swapped_for_a_link_meanwhile_never_shows_what_is_outside(place: Place) -> None:
    path, real = place.inside / "moving.txt", place.inside / "real"
    real.write_text("inside")
    with flipping(path, real, Path(link(place, place.secret))):
        answers = place.read(path, 1500)
    assert {"content": "inside"} in answers and REFUSED in codes(answers)
    assert SECRET not in str(answers)


def test_a_folder_that_is_swapped_for_a_link_meanwhile_never_shows_what_is_outside(place: Place) -> None:
    folder, real = place.inside / "moving", place.inside / "real"
    real.mkdir()
    (real / "secret.txt").write_text("inside")
    with flipping(folder, real, Path(link(place, place.outside))):
        answers = place.read(folder / "secret.txt", 1500)
    assert {"content": "inside"} in answers and REFUSED in codes(answers)
    assert SECRET not in str(answers)


def test_a_file_that_is_swapped_for_a_link_meanwhile_is_never_written_outside(place: Place) -> None:
    path, real = place.inside / "moving.txt", place.inside / "real"
    real.write_text("inside")
    with flipping(path, real, Path(link(place, place.secret))):
        answers = place.write(path, 1500)
    assert {} in answers and REFUSED in codes(answers)
    assert place.secret.read_text() == SECRET


# -- terminals


def test_a_terminal_starts_in_the_sessions_folder(place: Place) -> None:
    found = json_of(place.talk.say("terminal pwd"))
    assert found["output"]["output"].strip() == str(place.inside)


@pytest.mark.parametrize("way", ["absolute", "up", "prefix", "folder-link", "relative", "own-root"])
def test_a_terminal_starts_nowhere_else(place: Place, way: str) -> None:
    where = WAYS_OUT[way](place).removesuffix("/secret.txt")
    params = f'{{"command": "pwd", "cwd": "{where}"}}'
    assert json_of(place.talk.say(f"call terminal/create {params}"))["code"] == REFUSED


@pytest.mark.parametrize("method", ["output", "wait_for_exit", "kill", "release"])
def test_a_terminal_of_another_session_is_out_of_reach(place: Place, stage: Stage, method: str) -> None:
    other = json_of(Talk(stage).say("leave_running sleep 600"))["terminalId"]
    answer = json_of(place.talk.say(f'call terminal/{method} {{"terminalId": "{other}"}}'))
    assert answer["code"] == REFUSED


def test_a_terminal_sees_nothing_of_the_gateways_own_settings(place: Place) -> None:
    found = json_of(place.talk.say("terminal env"))
    assert "AGUI_GATEWAY" not in found["output"]["output"]


# -- runs


@pytest.mark.parametrize("folder", ["..", "/", "/etc", "sub/../../.."])
def test_a_run_cannot_choose_a_folder_outside(stage: Stage, folder: str) -> None:
    for options in ({"cwd": folder}, {"additionalDirectories": [folder]}):
        body = Talk(stage, **options).input("hello")
        problem_in(stage.post("plain", body), 422, "PATH_OUTSIDE_WORKSPACE")


def test_a_run_cannot_choose_what_is_no_folder(place: Place, stage: Stage) -> None:
    body = Talk(stage, cwd=f"{place.inside.name}/a.txt").input("hello")
    problem_in(stage.post("plain", body), 422, "DIRECTORY_NOT_FOUND")


def test_a_link_that_leads_outside_is_no_folder_to_work_in(place: Place, stage: Stage) -> None:
    link(place, place.outside)
    body = Talk(stage, cwd=f"{place.inside.name}/link").input("hello")
    problem_in(stage.post("plain", body), 422, "PATH_OUTSIDE_WORKSPACE")
