"""A second name for a file outside of the workspace.

Attack: somebody who can write in the workspace gives a file elsewhere on the same disk another name there, with
`ln`. The path is inside, no link is to be resolved, and an agent that is confined to the workspace reads and overwrites
the file. Promise: `fs/*` refuses a file that has more than one name, for reading and for writing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.behaviour.acp.harness import Stage, Talk
from tests.support.gateway import text_of


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with Stage(tmp_path_factory.mktemp("links")).agent("plain", acp={"fs": True}) as running:
        yield running


def test_a_hard_link_is_neither_read_nor_written(stage: Stage) -> None:
    outside = stage.workspace.parent / "outside.txt"
    outside.write_text("private")
    inside = stage.workspace / "inside.txt"
    os.link(outside, inside)
    talk = Talk(stage)
    read = text_of(talk.say(f"read {inside}"))
    assert "hard link" in read and "private" not in read
    assert "hard link" in text_of(talk.say(f"write {inside} stolen"))
    assert outside.read_text() == "private"


def test_a_file_with_one_name_is_read_and_written(stage: Stage) -> None:
    file = stage.workspace / "own.txt"
    file.write_text("mine")
    talk = Talk(stage)
    assert "mine" in text_of(talk.say(f"read {file}"))
    talk.say(f"write {file} changed")
    assert file.read_text() == "changed"
