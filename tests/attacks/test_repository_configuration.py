"""A cloned repository runs code when an agent is started in it.

The incident class of this year: Gemini CLI's headless trust (CVSS 10.0), Claude Code CVE-2025-59536, opencode
CVE-2026-22812: hooks, MCP servers and plugins of the repository ran at the first turn, without a question. The attack:
a repository whose settings run a command. The promise: no process of the agent starts before the user or the operator
has decided; in an untrusted folder the command never runs; in a trusted one only what the question has listed. The same
with real agents and every vendor's files: `tests/live/test_repository_configuration.py`.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.attacks.trust_stage import TRUST_TABLES, TrustStage, question_of
from tests.cli.pseudo_terminal import run_command
from tests.support.gateway import text_of

AGENTS = tuple(TRUST_TABLES)


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[TrustStage]:
    stage = TrustStage(tmp_path)
    stage.plant()
    with stage:
        yield stage


@pytest.mark.parametrize("agent", AGENTS)
def test_no_process_starts_before_the_answer(stage: TrustStage, agent: str) -> None:
    question = stage.ask(agent)
    assert stage.starts() == []
    assert str(stage.workspace) in question["message"]


def test_the_question_lists_what_the_repository_would_run(stage: TrustStage) -> None:
    [folder] = stage.ask("restricted")["metadata"]["trust"]["folders"]
    assert folder["folder"] == str(stage.workspace)
    assert folder["configuration"] == [
        {"file": ".fake/settings.json", "kind": "hook", "key": "hooks.start", "text": f"touch {stage.canary}"}
    ]


def test_an_agent_with_a_switch_runs_without_the_repository_s_configuration(stage: TrustStage) -> None:
    events = stage.answer("restricted", stage.ask("restricted"), "reject_once")
    assert text_of(events) == "you said hello"
    assert not stage.canary.exists()
    assert stage.starts()[0]["args"] == ["--ignore-project"]


@pytest.mark.parametrize("agent", ["clean", "unknown"])
def test_an_agent_without_a_switch_is_refused(stage: TrustStage, agent: str) -> None:
    events = stage.answer(agent, stage.ask(agent), "reject_once")
    assert events[-1]["code"] == "WORKSPACE_UNTRUSTED"
    assert str(stage.workspace) in events[-1]["message"] and agent in events[-1]["message"]
    assert stage.starts() == [] and not stage.canary.exists()


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("option", ["trust_once", "trust_always"])
def test_a_trusted_repository_runs_what_was_listed(stage: TrustStage, agent: str, option: str) -> None:
    events = stage.answer(agent, stage.ask(agent), option)
    assert text_of(events) == "you said hello"
    assert stage.canary.exists()


@pytest.mark.parametrize(
    "payload",
    [{}, {"approved": True}, {"optionId": "yes"}, {"optionId": "trust_always", "approved": True}, "trust_always"],
)
def test_an_unclear_answer_starts_nothing(stage: TrustStage, payload: object) -> None:
    question = stage.ask("restricted")
    entry = {"interruptId": question["id"], "status": "resolved", "payload": payload}
    for _ in range(2):  # an answer that cannot be used is refused once, and taken when the client repeats it
        stage.run("restricted", threadId="t", messages=[], resume=[entry])
    assert stage.starts() == [] and not stage.canary.exists()


def test_configuration_that_changes_after_the_question_is_not_trusted(stage: TrustStage) -> None:
    question = stage.ask("restricted")
    other = stage.workspace / ".fake" / "plugins" / "late.js"
    other.parent.mkdir()
    other.write_text("evil()")
    events = stage.answer("restricted", question, "trust_always")
    assert events[-1]["code"] == "WORKSPACE_CHANGED"
    assert stage.starts() == [] and not stage.trust_file.exists()
    assert "late.js" in json.dumps(stage.ask("restricted"))


def test_trust_of_one_run_ends_with_it(stage: TrustStage) -> None:
    stage.answer("restricted", stage.ask("restricted"), "trust_once")
    stage.canary.unlink()
    stage.answer("restricted", stage.ask("restricted"), "reject_once")
    assert not stage.canary.exists()


def test_a_no_is_remembered_for_the_thread_only(stage: TrustStage) -> None:
    stage.answer("restricted", stage.ask("restricted"), "reject_once")
    assert text_of(stage.run("restricted", "again", threadId="t")).endswith("again")
    stage.ask("restricted", "another thread")


def test_always_is_written_for_the_principal_and_readable_for_its_owner_only(stage: TrustStage) -> None:
    stage.answer("restricted", stage.ask("restricted"), "trust_always")
    assert list(json.loads(stage.trust_file.read_text())["principals"]["local"]) == [str(stage.workspace)]
    assert stage.trust_file.stat().st_mode & 0o777 == 0o600
    assert text_of(stage.run("restricted", "hello", threadId="other")) == "you said hello"


def test_one_principal_s_trust_is_not_another_s(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.txt"
    tokens.write_text("ada:0123456789abcdef0123\neve:fedcba9876543210fedc\n")
    tokens.chmod(0o600)
    stage = TrustStage(tmp_path, "--token-file", str(tokens))
    stage.plant()
    with stage:
        stage.client.headers["authorization"] = "Bearer 0123456789abcdef0123"
        stage.answer("restricted", stage.ask("restricted"), "trust_always")
        stage.client.headers["authorization"] = "Bearer fedcba9876543210fedc"
        stage.canary.unlink()
        stage.ask("restricted", "of eve")
        assert not stage.canary.exists()


def test_a_link_to_a_trusted_folder_does_not_make_its_place_trusted(stage: TrustStage) -> None:
    trusted, other = stage.workspace / "trusted", stage.workspace / "other"
    trusted.mkdir()
    other.mkdir()
    stage.answer("restricted", stage.ask("restricted", cwd="trusted"), "trust_always")
    trusted.rmdir()
    trusted.symlink_to(other)
    stage.plant(other)
    stage.canary.unlink(missing_ok=True)
    stage.ask("restricted", "second", cwd="trusted")
    assert not stage.canary.exists()


def test_a_folder_below_a_trusted_one_is_trusted_and_one_beside_it_is_not(stage: TrustStage) -> None:
    for name in ("a", "a/b", "ab"):
        (stage.workspace / name).mkdir()
    stage.answer("restricted", stage.ask("restricted", cwd="a"), "trust_always")
    options = {"gateway": {"cwd": "a/b"}}
    assert text_of(stage.run("restricted", threadId="below", forwardedProps=options)) == "you said hello"
    stage.ask("restricted", "beside", cwd="ab")


def test_an_additional_directory_is_asked_about_too(stage: TrustStage) -> None:
    (stage.workspace / "mine").mkdir()
    (stage.workspace / "theirs").mkdir()
    stage.plant(stage.workspace / "theirs")
    stage.answer("restricted", stage.ask("restricted", cwd="mine"), "trust_always")
    question = stage.ask("restricted", "second", cwd="mine", additionalDirectories=["theirs"])
    [folder] = question["metadata"]["trust"]["folders"]
    assert folder["folder"] == str(stage.workspace / "theirs")


def test_a_parent_folder_s_configuration_is_found(stage: TrustStage) -> None:
    (stage.workspace / "deep" / "down").mkdir(parents=True)
    question = stage.ask("clean", cwd="deep/down")
    [folder] = question["metadata"]["trust"]["folders"]
    assert folder["configuration"][0]["file"] == "../../.fake/settings.json"
    assert stage.answer("clean", question, "reject_once")[-1]["code"] == "WORKSPACE_UNTRUSTED"


@pytest.mark.parametrize("name", [".fake", ".fake/settings.json", ".FAKE"])
def test_links_and_other_spellings_hide_nothing(stage: TrustStage, tmp_path: Path, name: str) -> None:
    project = stage.workspace / "project"
    project.mkdir()
    outside = tmp_path / "outside"
    stage.plant(outside)
    target = outside / ".fake"
    if name == ".FAKE":
        target.rename(project / name)
    elif name == ".fake":
        (project / name).symlink_to(target)
    else:
        (project / ".fake").mkdir()
        (project / name).symlink_to(target / "settings.json")
    question = stage.ask("clean", cwd="project")
    assert stage.answer("clean", question, "reject_once")[-1]["code"] == "WORKSPACE_UNTRUSTED"
    assert not stage.canary.exists()


def test_an_agent_without_a_switch_works_in_a_clean_folder(tmp_path: Path) -> None:
    stage = TrustStage(tmp_path)
    with stage:
        assert text_of(stage.answer("clean", stage.ask("clean"), "reject_once")) == "you said hello"
        stage.plant()  # by the agent itself, or by a pull
        assert stage.run("clean", "again", threadId="t")[-1]["code"] == "WORKSPACE_UNTRUSTED"
        assert not stage.canary.exists()


def test_requests_between_runs_never_ask_and_never_trust(stage: TrustStage) -> None:
    stage.ask("clean")
    run = stage.client.get("/agents/clean/threads/t").json()
    stage.client.post(f"/runs/{run['pendingRunId']}/cancel")
    answer = stage.client.post("/agents/clean/threads/t/mode", json={"mode": "x"})
    assert answer.json()["code"] == "WORKSPACE_UNTRUSTED", answer.text
    assert stage.starts() == []


def test_probes_start_in_an_empty_folder_without_the_project(tmp_path: Path) -> None:
    """The gateway's own working directory may be anybody's project."""
    stage = TrustStage(tmp_path)
    stage.plant(tmp_path / "gateway")  # where the gateway is started
    program = (stage.agents / "restricted.toml").read_text().replace('process = "turn"', 'process = "session"')
    (stage.agents / "restricted.toml").write_text(program)
    with stage:
        stage.client.get("/agents/restricted/capabilities?probe=1")
        for start in stage.starts():
            assert start["args"] == ["--ignore-project"]
            assert start["cwd"] not in (str(tmp_path / "gateway"), str(stage.workspace))
        assert stage.starts() and not stage.canary.exists()


def test_the_operator_s_trust_is_for_everybody(tmp_path: Path) -> None:
    stage = TrustStage(tmp_path, "--trust", str(tmp_path / "workspace"))
    stage.plant()
    with stage:
        assert text_of(stage.run("unknown")) == "you said hello"
        assert stage.starts()[0]["args"] == []
        assert text_of(stage.run("restricted")) == "you said hello"
        assert stage.starts()[1]["args"] == ["--skip-trust"]


@pytest.mark.parametrize("folder", ["/", os.path.expanduser("~")])
def test_the_root_and_the_home_directory_are_not_trusted(tmp_path: Path, folder: str) -> None:
    ended = run_command(tmp_path, "serve", "--port", "0", "--trust", folder)
    assert ended.returncode == 2 and "would be trusted" in ended.stderr


def test_a_headless_gateway_can_refuse_or_go_on_untrusted(tmp_path: Path) -> None:
    for policy, code in (("untrusted", None), ("refuse", "WORKSPACE_UNTRUSTED")):
        stage = TrustStage(tmp_path / policy, env={"AGUI_GATEWAY_UNKNOWN_FOLDER": policy})
        stage.plant()
        with stage:
            assert stage.run("restricted")[-1].get("code") == code
            assert stage.run("clean")[-1]["code"] == "WORKSPACE_UNTRUSTED"
            assert not stage.canary.exists()


def test_a_trust_file_that_others_can_write_is_not_used(stage: TrustStage) -> None:
    stage.answer("restricted", stage.ask("restricted"), "trust_always")
    stage.trust_file.chmod(0o666)
    stage.ask("restricted", "another")


def test_the_question_is_parked_like_any_other(stage: TrustStage) -> None:
    question = stage.ask("restricted")
    again = stage.run("restricted", "and now?", threadId="t")
    assert again[-1]["code"] == "INTERRUPT_OPEN"
    pending = stage.client.get("/agents/restricted/threads/t").json()["pendingRunId"]
    assert stage.client.post(f"/runs/{pending}/cancel").status_code in (200, 202)
    assert stage.starts() == []
    late = stage.answer("restricted", question, "trust_always")
    assert late[-1]["type"] == "RUN_ERROR" and stage.starts() == []
    question_of(stage.run("restricted", "new", threadId="t"))


def test_a_restarted_gateway_has_lost_the_question(stage: TrustStage) -> None:
    question = stage.ask("restricted")
    stage.terminate()
    stage.start()
    assert stage.answer("restricted", question, "trust_always")[-1]["code"] == "TURN_LOST"
    assert stage.starts() == [] and not stage.trust_file.exists()


def test_an_unanswered_question_expires(tmp_path: Path) -> None:
    stage = TrustStage(tmp_path, env={"AGUI_GATEWAY_INTERRUPT_TTL": "0.05"})
    stage.plant()
    with stage:
        question = stage.ask("restricted")
        deadline = time.monotonic() + 20
        while stage.client.get("/agents/restricted/threads/t").json()["pendingRunId"] is not None:
            assert time.monotonic() < deadline
        assert stage.answer("restricted", question, "trust_always")[-1]["type"] == "RUN_ERROR"
        assert stage.starts() == []


def test_the_snapshot_tells_what_was_decided_and_by_whom(stage: TrustStage) -> None:
    def read(query: str) -> dict[str, str]:
        trust: dict[str, str] = stage.client.get(f"/agents/restricted/capabilities{query}").json()["custom"]["gateway"][
            "trust"
        ]
        return trust

    folder = str(stage.workspace)
    unknown = {"state": "unknown", "folder": folder, "decidedBy": "none", "untrustedStart": "restricted"}
    assert read("") == read("?thread=t") == unknown
    stage.answer("restricted", stage.ask("restricted"), "reject_once")
    assert read("?thread=t") == {**unknown, "state": "untrusted", "decidedBy": "thread"}
    assert read("?thread=other") == unknown
