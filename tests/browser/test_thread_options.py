"""Model, mode, options and folder of a thread: chosen in the console, sent with the run, kept for a closed session."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, Request, expect

from tests.behaviour.acp.harness import Stage
from tests.behaviour.worktrees.harness import GitStage, git
from tests.browser.chat_page import ask, chat, idle, log, say

Shot = Callable[[Page, str], Path]

NAMER = """\
id = "namer"
driver = "cli"
options = ["model", "effort", "thinkingBudgetTokens", "maxTurns", "approvals", "cwd", "mcpServers"]

[identity]
name = "Namer"
description = "Repeats its command line."

[command]
run = ["sh", "-c", 'echo "model: $1, effort: $2"', "namer"]

[cli]
dialect = "text"
process = "turn"
transport = "stdio-raw"

[cli.flags]
model = ["{model}"]
thinking = { effort = ["{value}"], tokens = ["{value}"] }

[effort]
parameter = "effort"
values = { low = "small", high = "huge" }
budget_parameter = "tokens"
budget_range = [1024, 4096]

[[models]]
id = "one"
name = "Model One"
default = true

[[models]]
id = "two"
name = "Model Two"
"""


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    stage = Stage(tmp_path_factory.mktemp("options"))
    stage.agent("full", "--full", stage.state("full"))
    (stage.agents / "namer.toml").write_text(NAMER, "utf-8")
    with stage:
        yield stage


def sent_requests(page: Page) -> list[Request]:
    """Grows with each POST of the page."""
    sent: list[Request] = []
    page.on("request", lambda request: sent.append(request) if request.method == "POST" else None)
    return sent


def run_options(sent: list[Request], agent: str) -> list[dict[str, Any]]:
    """`forwardedProps.gateway` of each run."""
    runs = [request for request in sent if request.url.endswith(f"/agents/{agent}")]
    return [json.loads(request.post_data or "")["forwardedProps"]["gateway"] for request in runs]


def test_a_model_that_is_chosen_before_the_first_message_travels_with_it(page: Page, stage: Stage) -> None:
    sent = sent_requests(page)
    chat(page, stage, "namer")
    picker = page.get_by_test_id("picker-model")
    assert picker.locator("option").all_inner_texts() == ["Model One", "Model Two"]
    picker.select_option("two")
    page.get_by_test_id("picker-effort").select_option("high")
    ask(page, "hello")
    expect(log(page)).to_contain_text("model: two, effort: huge")
    assert [(options["model"], options["effort"]) for options in run_options(sent, "namer")] == [("two", "high")]
    assert [request.url for request in sent if request.url.endswith(("/model", "/mode"))] == []


def test_what_was_chosen_and_not_sent_survives_a_reload(page: Page, stage: Stage) -> None:
    chat(page, stage, "namer")
    page.get_by_test_id("picker-model").select_option("two")
    page.reload()
    expect(page.get_by_test_id("picker-model")).to_have_value("two")


def test_a_mode_that_is_chosen_right_before_a_message_is_the_mode_of_its_run(page: Page, stage: Stage) -> None:
    chat(page, stage, "full")
    ask(page, "hello")
    sent = sent_requests(page)
    page.route("**/mode", lambda route: None)  # it does not arrive: the run brings the mode
    page.get_by_test_id("picker-mode").select_option("auto")
    ask(page, "and now?")
    assert [options["mode"] for options in run_options(sent, "full")] == ["auto"]
    expect(page.get_by_test_id("picker-mode")).to_have_value("auto")
    page.unroute_all(behavior="ignoreErrors")


def test_what_is_set_stays_set_while_the_session_is_closed(page: Page, stage: Stage, shot: Shot) -> None:
    thread = chat(page, stage, "full")
    ask(page, "hello")
    with page.expect_response("**/mode"):
        page.get_by_test_id("picker-mode").select_option("auto")
    with page.expect_response("**/model"):
        page.get_by_test_id("picker-model").select_option("large")
    stage.asks(f"/agents/full/threads/{thread}/close", {})
    page.goto("about:blank")
    stage.terminate()
    stage.start()
    chat(page, stage, "full", thread)
    expect(page.get_by_test_id("picker-mode")).to_have_value("auto")
    expect(page.get_by_test_id("picker-model")).to_have_value("large")
    shot(page, "closed-session")
    ask(page, "still there?")
    shown = stage.asks(f"/agents/full/capabilities?thread={thread}")["custom"]["session"]
    assert (shown["modes"]["current"], shown["models"]["current"]) == ("auto", "large")


def test_the_options_are_those_that_the_agent_takes(page: Page, stage: Stage, shot: Shot) -> None:
    sent = sent_requests(page)
    chat(page, stage, "namer")
    effort = page.get_by_test_id("picker-effort")
    assert effort.locator("option").evaluate_all("nodes => nodes.map(({value, title}) => [value, title])") == [
        ["", ""],
        ["low", "Sent to the agent as “small”"],
        ["high", "Sent to the agent as “huge”"],
    ]
    page.get_by_test_id("options").click()
    form = page.get_by_test_id("run-options")
    expect(form).to_contain_text("From 1024 to 4096 tokens.")
    expect(form).to_contain_text("The agent takes servers over stdio.")
    assert form.locator("label, legend").all_inner_texts() == [
        "Approvals (optional)",
        "Thinking budget (optional)",
        "Maximum turns (optional)",
        "MCP servers (optional)",
    ]
    form.get_by_label("Thinking budget").fill("9")
    form.get_by_role("button", name="Apply").click()
    expect(form).to_contain_text("The value must be at least 1024.")
    shot(page, "chat-options")
    form.get_by_label("Thinking budget").fill("2048")
    form.get_by_role("button", name="Apply").click()
    expect(page.get_by_test_id("options")).to_have_attribute("aria-label", "Options: 1 set")
    ask(page, "hello")
    assert run_options(sent, "namer")[0]["thinkingBudgetTokens"] == 2048


def test_an_agents_page_states_the_options_of_a_run(page: Page, stage: Stage, shot: Shot) -> None:
    page.goto(f"{stage.url}/#/agents/namer")
    table = page.get_by_test_id("options-table")
    expect(table.locator("[data-option=effort]")).to_contain_text("low (small), high (huge)")
    expect(table.locator("[data-option=thinkingBudgetTokens]")).to_contain_text("1024 to 4096 tokens")
    expect(table.locator("[data-option=model]")).to_contain_text("2 models")
    expect(table.locator("[data-option=skills]")).to_contain_text("no · namer.toml: options")
    shot(page, "agent-options")


# -- folders


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[GitStage]:
    stage = GitStage(tmp_path)
    with stage:
        yield stage


def test_the_folder_is_shown_and_chosen_with_a_worktree(page: Page, repository: GitStage, shot: Shot) -> None:
    chat(page, repository, "shell")
    button = page.get_by_test_id("folder")
    expect(button).to_have_attribute("aria-label", f"Folder: {repository.workspace}")
    button.click()
    chooser = page.get_by_test_id("folder-chooser")
    expect(chooser.get_by_label("Work in a git worktree")).to_be_disabled()
    expect(chooser).to_contain_text("Not possible here:")
    chooser.get_by_role("button", name="repository").press("Enter")
    expect(chooser.locator("code")).to_have_text(str(repository.repository))
    expect(chooser.get_by_role("button", name="Up one folder")).to_be_focused()
    chooser.get_by_label("Work in a git worktree").check()
    shot(page, "folder")
    chooser.get_by_role("button", name="Use this folder").click()
    expect(button).to_have_attribute("aria-label", f"Folder: {repository.repository}, in a new git worktree")
    say(page, "pwd; echo new > made.txt")
    idle(page)
    expect(page.get_by_test_id("branch")).to_be_visible()
    expect(log(page)).to_contain_text(str(repository.worktrees))
    assert git(repository.repository, "status", "--porcelain") == ""
    expect(button).to_have_attribute("title", re.compile("The thread works in a git worktree of its own.$"))


def test_a_thread_stays_in_its_folder_after_a_restart(page: Page, repository: GitStage) -> None:
    thread = chat(page, repository, "shell")
    page.get_by_test_id("folder").click()
    chooser = page.get_by_test_id("folder-chooser")
    chooser.get_by_role("button", name="repository").click()
    expect(chooser.locator("code")).to_have_text(str(repository.repository))
    chooser.get_by_role("button", name="Use this folder").click()
    say(page, "pwd")
    expect(log(page)).to_contain_text(str(repository.repository))
    idle(page)
    page.goto("about:blank")
    repository.terminate()
    repository.start()
    chat(page, repository, "shell", thread)
    expect(page.get_by_test_id("folder")).to_have_attribute("aria-label", f"Folder: {repository.repository}")
    page.get_by_test_id("folder").click()
    expect(page.get_by_role("dialog")).to_contain_text("A thread stays in its folder.")
    page.keyboard.press("Escape")
    say(page, "basename $(pwd)")
    idle(page)
    expect(page.get_by_test_id("log").get_by_text("repository", exact=True)).to_be_visible()
