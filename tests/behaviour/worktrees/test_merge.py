"""A worktree by HTTP: shown, committed, merged into its base, refused where that would lose something."""

from __future__ import annotations

import pytest

from tests.behaviour.worktrees.harness import GitStage, Worker, commit, git
from tests.runs.harness import until
from tests.web.problem import problem_in

CHANGE = "sed -i s/two/TWO/ notes.txt && echo new > new.txt && rm lib/code.txt"


def changed(stage: GitStage, command: str = CHANGE) -> Worker:
    worker = Worker(stage)
    worker.run(command)
    return worker


def test_changes_are_listed_with_status_and_lines(stage: GitStage) -> None:
    worker = changed(stage)
    shown = worker.show()
    assert {each["path"]: each["status"] for each in shown["dirty"]} == {
        "notes.txt": "modified",
        "new.txt": "untracked",
        "lib/code.txt": "deleted",
    }
    assert {(each["path"], each["added"], each["removed"]) for each in shown["changes"]} == {
        ("notes.txt", 1, 1),
        ("new.txt", 1, 0),
        ("lib/code.txt", 0, 1),
    }
    assert (shown["dirtyCount"], shown["changeCount"]) == (3, 3)


def test_the_diff_has_committed_and_uncommitted_changes_and_new_files(stage: GitStage) -> None:
    worker = changed(stage)
    worker.commit("Some")
    (worker.folder / "later.txt").write_text("later\n")
    response = stage.client.get(f"{worker.path}/worktree/diff")
    assert response.headers["content-type"].startswith("text/x-diff")
    for line in ("-two", "+TWO", "+new", "-code", "+later", "+++ b/later.txt"):
        assert line in response.text.splitlines()
    assert worker.show()["dirty"] == [{"path": "later.txt", "status": "untracked"}]


def test_a_long_diff_is_cut_and_says_so(stage: GitStage) -> None:
    worker = changed(stage, "yes 'a long line of text that fills the diff' | head -n 100000 > long.txt")
    response = stage.client.get(f"{worker.path}/worktree/diff")
    assert response.headers["agui-gateway-truncated"] == "true"
    assert len(response.content) == 2 * 2**20


def test_a_commit_takes_everything_and_a_second_one_nothing(stage: GitStage) -> None:
    worker = changed(stage)
    done = worker.commit("Say what it is\n\nAnd why.")
    assert done["result"] == "committed"
    assert git(stage.repository, "log", "-1", "--format=%B", done["commit"]) == "Say what it is\n\nAnd why."
    assert worker.commit() == {"commit": None, "result": "nothing-to-commit"}
    assert worker.show()["ahead"] == 1


def test_a_merge_is_a_fast_forward_where_the_base_has_not_moved(stage: GitStage) -> None:
    worker = changed(stage)
    assert (stage.repository / "notes.txt").read_text() == "one\ntwo\nthree\n"
    merged = worker.merge(commit=True, message="All of it")
    assert merged["result"] == "fast-forward"
    assert (stage.repository / "notes.txt").read_text() == "one\nTWO\nthree\n"
    assert not (stage.repository / "lib" / "code.txt").exists()
    assert git(stage.repository, "rev-parse", "main") == merged["commit"]
    assert git(stage.repository, "status", "--porcelain") == ""
    assert worker.merge()["result"] == "nothing-to-merge"


def test_a_merge_is_a_commit_where_the_base_has_moved(stage: GitStage) -> None:
    worker = changed(stage)
    commit(stage.repository, "Elsewhere", other_txt="other\n")
    assert worker.show()["behind"] == 1
    merged = worker.merge(commit=True)
    assert merged["result"] == "merge-commit"
    assert len(git(stage.repository, "log", "-1", "--format=%P").split()) == 2
    assert (stage.repository / "new.txt").exists() and (stage.repository / "other.txt").exists()
    assert git(stage.repository, "status", "--porcelain") == ""


def test_a_conflict_is_refused_with_its_files_and_nothing_is_changed(stage: GitStage) -> None:
    worker = changed(stage)
    tip = commit(stage.repository, "Elsewhere", notes_txt="one\nzwei\nthree\n")
    worker.commit()
    head = worker.show()["commit"]
    problem = problem_in(stage.client.post(f"{worker.path}/worktree/merge"), 409, "MERGE_CONFLICT")
    assert problem["files"] == ["notes.txt"]
    assert git(stage.repository, "rev-parse", "main") == tip
    assert git(stage.repository, "status", "--porcelain") == ""
    assert (worker.show()["commit"], worker.show()["dirty"]) == (head, [])


def test_uncommitted_changes_are_in_the_way_unless_they_are_to_be_committed(stage: GitStage) -> None:
    worker = changed(stage)
    problem = problem_in(stage.client.post(f"{worker.path}/worktree/merge"), 409, "WORKTREE_DIRTY")
    assert "notes.txt" in problem["files"]


@pytest.mark.parametrize(("name", "is_refused"), [("notes.txt", True), ("new.txt", True), ("mine.txt", False)])
def test_a_base_with_changes_in_touched_files_is_left_alone(stage: GitStage, name: str, is_refused: bool) -> None:
    worker = changed(stage)
    (stage.repository / name).write_text("unsaved\n")
    response = stage.client.post(f"{worker.path}/worktree/merge", json={"commit": True})
    assert (stage.repository / name).read_text() == "unsaved\n"
    if is_refused:
        assert problem_in(response, 409, "BASE_DIRTY")["files"] == [name]
        assert git(stage.repository, "log", "-1", "--format=%s") == "First"
    else:
        assert response.json()["result"] == "fast-forward"


def test_a_base_branch_that_is_not_checked_out_is_moved_alone(stage: GitStage) -> None:
    worker = changed(stage)
    git(stage.repository, "switch", "-q", "-c", "other")
    merged = worker.merge(commit=True)
    assert git(stage.repository, "rev-parse", "main") == merged["commit"]
    assert (stage.repository / "notes.txt").read_text() == "one\ntwo\nthree\n"
    assert git(stage.repository, "status", "--porcelain") == ""


def test_a_base_branch_that_is_checked_out_elsewhere_is_refused(stage: GitStage) -> None:
    worker = changed(stage)
    git(stage.repository, "switch", "-q", "-c", "other")
    git(stage.repository, "worktree", "add", "-q", "../elsewhere", "main")
    response = stage.client.post(f"{worker.path}/worktree/merge", json={"commit": True})
    problem_in(response, 409, "BASE_ELSEWHERE")


def test_a_worktree_of_a_detached_head_is_merged_by_hand(stage: GitStage) -> None:
    git(stage.repository, "switch", "-q", "--detach")
    worker = changed(stage)
    assert worker.show()["base"]["branch"] is None
    problem_in(stage.client.post(f"{worker.path}/worktree/merge"), 422, "BASE_DETACHED")


def test_nothing_is_done_while_a_run_is_live(stage: GitStage) -> None:
    worker = Worker(stage, "plain")
    worker.say("hello")
    with worker.streaming("slow") as events:
        until(events, "TEXT_MESSAGE_CONTENT")
        for method, path, body in (
            ("POST", "/commit", {"message": "x"}),
            ("POST", "/merge", {}),
            ("DELETE", "", None),
        ):
            response = stage.client.request(method, f"{worker.path}/worktree{path}", json=body)
            problem_in(response, 409, "RUN_IN_PROGRESS")
        assert stage.client.get(f"{worker.path}/worktree").status_code == 200


def test_a_thread_without_a_worktree_has_none_to_show(stage: GitStage) -> None:
    worker = Worker(stage, worktree=None, cwd=".")
    worker.run("true")
    for path in ("", "/diff"):
        problem_in(stage.client.get(f"{worker.path}/worktree{path}"), 404, "NO_WORKTREE")


@pytest.mark.parametrize(
    "body", [{}, {"message": ""}, {"message": 1}, {"message": "a\0b"}, [], {"message": "x" * 10_001}]
)
def test_a_commit_needs_a_message(stage: GitStage, body: object) -> None:
    worker = Worker(stage)
    worker.run("true")
    assert stage.client.post(f"{worker.path}/worktree/commit", json=body).status_code == 422
