"""A thread in a worktree of its own: made, kept, made again, forked, removed."""

from __future__ import annotations

import shutil
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.behaviour.acp.harness import Talk, json_of, outcome_of, warnings_of
from tests.behaviour.worktrees.harness import GitStage, Worker, commit, git, has_branch, messages_of
from tests.runs.harness import eventually
from tests.support.gateway import text_of
from tests.web.problem import problem_in


def test_two_threads_that_write_the_same_file_at_once_do_not_collide(stage: GitStage) -> None:
    first, second = Worker(stage), Worker(stage)
    command = "for i in 1 2 3 4 5; do echo {} >> notes.txt; sleep 0.05; done"
    with ThreadPoolExecutor() as pool:
        events = [*pool.map(lambda worker: worker.say(command.format(worker.id)), (first, second))]
    assert [outcome_of(each) for each in events] == ["success", "success"]
    for worker in (first, second):
        assert (worker.folder / "notes.txt").read_text().splitlines() == ["one", "two", "three", *[worker.id] * 5]
    assert (stage.repository / "notes.txt").read_text() == "one\ntwo\nthree\n"
    assert git(stage.repository, "status", "--porcelain") == ""


def test_the_branch_is_named_after_the_thread_and_git_lists_the_worktree(stage: GitStage) -> None:
    worker = Worker(stage)
    worker.run("echo 'Fix the Notes!'")
    shown = worker.show()
    assert shown["branch"].startswith("agui/echo-fix-the-notes-")
    assert f"{shown['path']} " in git(stage.repository, "worktree", "list")
    assert Path(shown["path"]).name == "repository"
    assert Path(shown["path"]).parent.parent == stage.worktrees
    assert shown["base"] == {
        "path": str(stage.repository),
        "branch": "main",
        "commit": git(stage.repository, "rev-parse", "main"),
    }


def test_a_subfolder_is_the_same_subfolder_of_the_worktree(stage: GitStage) -> None:
    worker = Worker(stage, cwd="repository/lib")
    assert worker.run("pwd").strip() == str(worker.folder / "lib")
    other = text_of(worker.say("pwd", forwardedProps={"gateway": {"cwd": "repository"}}))
    assert other.strip() == str(worker.folder)
    refused = worker.say("pwd", forwardedProps={"gateway": {"cwd": "."}})
    assert outcome_of(refused) == "WORKTREE_ELSEWHERE"


def test_git_works_inside_for_the_agent(stage: GitStage) -> None:
    worker = Worker(stage)
    worker.run("echo x > x.txt && git add -A && git -c user.name=A -c user.email=a@b commit -qm Mine && git log -1")
    shown = worker.show()
    assert (shown["ahead"], shown["behind"], shown["dirty"]) == (1, 0, [])
    assert git(stage.repository, "log", "-1", "--format=%s", shown["branch"]) == "Mine"


def test_uncommitted_changes_of_the_base_are_not_in_it_and_the_client_hears_so_once(stage: GitStage) -> None:
    (stage.repository / "notes.txt").write_text("unsaved\n")
    worker = Worker(stage)
    first = worker.say("cat notes.txt")
    assert text_of(first) == "one\ntwo\nthree\n"
    assert warnings_of(first).count("WORKTREE_BASE_DIRTY") == 1
    assert "1 file(s)" in "".join(messages_of(first))
    assert "WORKTREE_BASE_DIRTY" not in warnings_of(worker.say("true"))
    assert "WORKTREE_BASE_DIRTY" not in warnings_of(Worker(stage, cwd="repository", worktree=None).say("true"))


def test_the_snapshot_of_the_thread_names_it_with_its_source(stage: GitStage) -> None:
    worker = Worker(stage, "plain")
    worker.say("hello")
    shown = worker.show()
    path = f"/agents/plain/capabilities?thread={worker.id}"
    stated = stage.asks(path)["custom"]["gateway"]["worktree"]
    assert stated == {"branch": shown["branch"], "path": shown["path"], "base": "main"}
    explained = stage.asks(f"{path}&explain=1")
    assert "the git worktree that it made for the thread" in str(explained)
    stage.asks(f"{worker.path}/close", {})
    assert stage.asks(path)["custom"]["gateway"]["worktree"] == stated
    assert "worktree" not in stage.asks("/agents/plain/capabilities")["custom"].get("gateway", {})


def test_it_survives_a_restart_and_the_session_is_resumed_in_it(stage: GitStage) -> None:
    worker = Worker(stage, "plain")
    worker.say("terminal echo kept > kept.txt")
    before = worker.show()
    stage.kill()
    stage.start()
    assert worker.show() == before
    assert "kept" in json_of(worker.say("terminal cat kept.txt"))["output"]["output"]


def test_a_folder_that_is_gone_is_checked_out_again(stage: GitStage) -> None:
    worker = Worker(stage, "plain")
    worker.say("terminal echo kept > kept.txt")
    worker.commit()
    folder = worker.folder
    shutil.rmtree(folder)
    problem_in(stage.client.get(f"{worker.path}/worktree"), 409, "WORKTREE_MISSING")
    again = worker.say("terminal cat kept.txt")
    assert "WORKTREE_RESTORED" in warnings_of(again)
    assert "kept" in json_of(again)["output"]["output"]
    assert worker.folder == folder


def test_a_fork_begins_with_everything_that_the_thread_has(stage: GitStage) -> None:
    worker = Worker(stage, "full")
    worker.say("terminal echo mine > mine.txt")
    forked = Worker(stage, "full")
    forked.id = stage.asks(f"{worker.path}/fork", {}, 201)["threadId"]
    assert forked.folder != worker.folder
    assert (forked.folder / "mine.txt").read_text() == "mine\n"
    assert worker.show()["dirty"] == [{"path": "mine.txt", "status": "untracked"}]
    (forked.folder / "mine.txt").write_text("other\n")
    assert (worker.folder / "mine.txt").read_text() == "mine\n"
    assert forked.show()["branch"] != worker.show()["branch"]


# -- where there can be none


def test_a_run_that_demands_one_where_there_is_no_repository_is_refused(stage: GitStage) -> None:
    refused = Worker(stage, cwd=".").say("touch made")
    assert outcome_of(refused) == "WORKTREE_UNAVAILABLE"
    assert "git init" in refused[-1]["message"]
    assert not (stage.workspace / "made").exists()


def test_a_repository_without_a_commit_and_a_bare_one_are_refused(stage: GitStage) -> None:
    (stage.workspace / "empty").mkdir()
    git(stage.workspace / "empty", "init", "-q")
    git(stage.workspace, "clone", "-q", "--bare", "repository", "bare.git")
    assert "no commit yet" in Worker(stage, cwd="empty").say("true")[-1]["message"]
    assert "bare" in Worker(stage, cwd="bare.git").say("true")[-1]["message"]
    assert git(stage.workspace / "empty", "branch", "--list") == ""


def test_a_thread_that_has_a_session_elsewhere_cannot_move(stage: GitStage) -> None:
    talk = Talk(stage, "plain")
    talk.say("hello")
    late = talk.say("hello", forwardedProps={"gateway": {"worktree": True, "cwd": "repository"}})
    assert outcome_of(late) == "WORKTREE_TOO_LATE"


def test_a_thread_with_a_worktree_does_not_leave_it(stage: GitStage) -> None:
    worker = Worker(stage)
    worker.run("true")
    assert outcome_of(worker.say("true", forwardedProps={"gateway": {"worktree": False}})) == "WORKTREE_FIXED"


def test_an_agent_without_a_folder_does_not_take_the_option(stage: GitStage) -> None:
    body = Talk(stage, "echo", worktree=True).input("hello")
    problem = problem_in(stage.post("echo", body), 422, "CAPABILITY_ERROR")
    assert problem["pointer"] == "/forwardedProps/gateway/worktree"


def test_as_a_default_it_holds_for_new_threads_and_warns_where_it_cannot(tmp_path: Path) -> None:
    with GitStage(tmp_path, worktree=True) as stage:
        assert isinstance(stage, GitStage)
        worker = Talk(stage, "shell", cwd="repository")
        assert "/worktrees/" in text_of(worker.say("pwd"))
        plain = Talk(stage, "shell")
        first = plain.say("pwd")
        assert text_of(first).strip() == str(stage.workspace)
        assert "WORKTREE_UNAVAILABLE" in warnings_of(first)
        assert "WORKTREE_UNAVAILABLE" not in warnings_of(plain.say("pwd"))
        unwanted = Talk(stage, "shell", cwd="repository", worktree=False)
        assert text_of(unwanted.say("pwd")).strip() == str(stage.repository)
        assert outcome_of(Talk(stage, "echo").say("hello")) == "success"


def test_an_agents_file_may_demand_it(stage: GitStage) -> None:
    file = stage.agents / "shell.toml"
    file.write_text(f"worktree = true\n{file.read_text()}")
    eventually(lambda: "/worktrees/" in text_of(Talk(stage, "shell", cwd="repository").say("pwd")))


# -- the end of a thread


def test_a_deleted_thread_without_work_leaves_nothing(stage: GitStage) -> None:
    worker = Worker(stage)
    worker.run("true")
    shown = worker.show()
    assert stage.client.delete(worker.path).status_code == 204
    assert not Path(shown["path"]).exists()
    assert not has_branch(stage.repository, shown["branch"])
    assert git(stage.repository, "worktree", "list").count("\n") == 0


def test_a_deleted_thread_with_work_keeps_it_on_its_branch_and_names_it(stage: GitStage) -> None:
    worker = Worker(stage)
    worker.run("echo precious > precious.txt")
    shown = worker.show()
    kept = stage.client.delete(worker.path).json()["kept"]
    assert kept == {"branch": shown["branch"], "repository": str(stage.repository)}
    assert not Path(shown["path"]).exists()
    assert git(stage.repository, "show", f"{shown['branch']}:precious.txt") == "precious"


def test_a_deleted_thread_whose_work_was_merged_leaves_nothing(stage: GitStage) -> None:
    worker = Worker(stage)
    worker.run("echo more >> notes.txt")
    branch = worker.show()["branch"]
    worker.merge(commit=True)
    assert stage.client.delete(worker.path).status_code == 204
    assert not has_branch(stage.repository, branch)


def test_after_a_discard_the_thread_goes_on_in_a_new_one(stage: GitStage) -> None:
    worker = Worker(stage, "plain")
    worker.say("terminal echo wrong > wrong.txt")
    worker.commit()
    before = worker.show()
    discarded = worker.discard()
    assert discarded["branch"] == before["branch"]
    assert git(stage.repository, "cat-file", "-t", discarded["commit"]) == "commit"
    assert not has_branch(stage.repository, before["branch"])
    problem_in(stage.client.get(f"{worker.path}/worktree"), 404, "NO_WORKTREE")
    tip = commit(stage.repository, "Later", later_txt="later\n")
    assert "later" in json_of(worker.say("terminal ls"))["output"]["output"]
    after = worker.show()
    assert after["path"] == before["path"]
    assert after["branch"] != before["branch"]
    assert after["commit"] == tip


def test_a_thread_that_was_pruned_leaves_no_worktree(tmp_path: Path) -> None:
    with GitStage(tmp_path) as stage:
        assert isinstance(stage, GitStage)
        worker = Worker(stage)
        worker.run("true")
        folder = worker.folder
        stage.terminate()
        connection = sqlite3.connect(tmp_path / "gateway.db")
        with connection:
            connection.execute("delete from threads")
            connection.execute("update worktrees set created = 0")
        connection.close()
        stage.start()
        eventually(lambda: not folder.exists())
