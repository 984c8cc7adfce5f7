"""The console with ACP agents: a scripted one, and a real one with a scripted model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.behaviour.acp.harness import Stage
from tests.browser.chat_page import ask, chat, idle, log, question, say
from tests.fakes.model_server.server import ModelServer
from tests.live.harness import behind_gateway

Shot = Callable[[Page, str], Path]


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with Stage(tmp_path_factory.mktemp("stage")).agent("plain") as running:
        yield running


def test_a_mode_that_one_tab_sets_is_seen_in_the_other(page: Page, stage: Stage, context: BrowserContext) -> None:
    thread = chat(page, stage, "plain")
    ask(page, "hello")
    other = context.new_page()
    chat(other, stage, "plain", thread)
    first_picker = page.get_by_test_id("picker-mode")
    second_picker = other.get_by_test_id("picker-mode")
    expect(second_picker).to_be_visible()
    before = second_picker.input_value()
    modes = first_picker.locator("option").evaluate_all("nodes => nodes.map((node) => node.value)")
    first_picker.select_option(next(mode for mode in modes if mode not in ("", before)))
    expect(second_picker).not_to_have_value(before)
    other.close()


@pytest.mark.live
def test_a_real_agent_requests_approval_and_continues(page: Page, tmp_path: Path, shot: Shot) -> None:
    with ModelServer() as models, behind_gateway("claude-agent-acp", models.url, tmp_path) as gateway:
        chat(page, gateway, "claude-agent-acp")
        ask(page, "hello")
        expect(log(page)).to_contain_text("You said: hello")
        say(page, "SHELL touch allowed.txt")
        expect(question(page)).to_be_visible(timeout=60_000)
        shot(page, "claude-approve")
        options = question(page).get_by_role("button")
        options.first.click()
        expect(log(page)).to_contain_text("done: ")
        idle(page)
        assert any((tmp_path / "work").glob("allowed.txt"))
        shot(page, "claude")
