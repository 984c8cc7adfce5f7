"""A thread's git worktree in the console: its branch, its changes, Merge and Discard."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.behaviour.worktrees.harness import GitStage, commit, git
from tests.browser.chat_page import chat, idle, say

Shot = Callable[[Page, str], Path]


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[GitStage]:
    """Every thread of the agent works in a worktree of the repository, which is the workspace itself."""
    stage = GitStage(tmp_path, at=".", worktree=True)
    with stage:
        yield stage


def test_changes_are_shown_merged_and_discarded(page: Page, stage: GitStage, shot: Shot) -> None:
    chat(page, stage, "shell")
    say(page, "sed -i s/two/TWO/ notes.txt && echo new > new.txt")
    idle(page)
    page.get_by_test_id("branch").click()
    changes = page.get_by_test_id("worktree")
    expect(changes).to_contain_text("From main in")
    expect(changes).to_contain_text("2 files changed, 2 not committed.")
    expect(changes.locator("tr.add")).to_have_count(2)
    expect(changes.locator("tr.del")).to_contain_text("two")
    shot(page, "chat-worktree")
    assert git(stage.repository, "status", "--porcelain") == ""

    changes.get_by_role("button", name="Merge").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("2 uncommitted files will be committed first")
    dialog.get_by_label("Commit message").fill("Shout")
    dialog.get_by_role("button", name="Merge", exact=True).click()
    expect(page.locator(".toast")).to_contain_text("Merged.")
    expect(changes).to_contain_text("No changes yet.")
    assert (stage.repository / "notes.txt").read_text() == "one\nTWO\nthree\n"
    assert git(stage.repository, "log", "-1", "--format=%s") == "Shout"

    changes.get_by_role("button", name="Discard").click()
    page.get_by_role("dialog").get_by_role("button", name="Discard", exact=True).click()
    expect(changes).to_contain_text("This thread has no worktree")
    expect(page.get_by_test_id("branch")).to_be_hidden()


def test_a_conflict_is_shown_with_its_file(page: Page, stage: GitStage, page_errors: object) -> None:
    page_errors.allowed.append("409")  # type: ignore[attr-defined]
    chat(page, stage, "shell")
    say(page, "sed -i s/two/TWO/ notes.txt")
    idle(page)
    commit(stage.repository, "Elsewhere", notes_txt="one\nzwei\nthree\n")
    page.get_by_test_id("branch").click()
    page.get_by_test_id("worktree").get_by_role("button", name="Merge").click()
    page.get_by_role("dialog").get_by_role("button", name="Merge", exact=True).click()
    expect(page.locator(".toast.bad")).to_contain_text("the merge conflicts in notes.txt: nothing was changed")
    assert (stage.repository / "notes.txt").read_text() == "one\nzwei\nthree\n"
