"""`GET /workspaces`: folders inside the roots, one level at a time, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.behaviour.worktrees.harness import make_repository
from tests.support.gateway import Gateway


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    home = tmp_path_factory.mktemp("workspaces")
    outside = home / "outside"
    first, second = home / "first", home / "second"
    for folder in (outside / "secret", first / "b" / "inner", first / ".hidden", second):
        folder.mkdir(parents=True)
    make_repository(first / "A")
    (first / "file.txt").write_text("text")
    (first / "escape").symlink_to(outside)
    (first / "shortcut").symlink_to(first / "b")
    with Gateway(home / "gateway", "--workspace", str(first), "--workspace", str(second)) as running:
        running.workspace = first
        yield running


def show(gateway: Gateway, path: Path | str | None = None, status: int = 200) -> Any:
    response = gateway.client.get("/workspaces", params={} if path is None else {"path": str(path)})
    assert response.status_code == status, response.text
    return response.json()


def test_the_first_root_is_where_a_thread_works_by_default(gateway: Gateway) -> None:
    shown = show(gateway)
    first = gateway.workspace
    assert (shown["roots"], shown["path"], shown["parent"]) == (
        [str(first), str(first.parent / "second")],
        str(first),
        None,
    )


def test_folders_are_listed_and_nothing_that_leads_out(gateway: Gateway) -> None:
    first = gateway.workspace
    folders = {folder["path"] for folder in show(gateway)["folders"]}
    assert folders == {str(first / "A"), str(first / "b")}, "a link inside is listed where it leads"
    assert show(gateway, "b")["parent"] == str(first)
    for path in (first / "escape", "..", "/etc", first / "escape" / "secret"):
        assert show(gateway, path, 422)["code"] == "PATH_OUTSIDE_WORKSPACE"
    assert show(gateway, "file.txt", 422)["code"] == "DIRECTORY_NOT_FOUND"


def test_a_folder_of_a_repository_can_have_worktrees(gateway: Gateway) -> None:
    first = gateway.workspace
    inner = show(gateway, first / "A" / "lib")
    assert (inner["repository"], inner["worktree"]) == (str(first / "A"), {"available": True, "default": False})
    plain = show(gateway, first / "b")
    assert plain["repository"] is None
    assert (plain["worktree"]["available"], "git init" in plain["worktree"]["reason"]) == (False, True)
