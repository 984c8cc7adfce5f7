"""The console with real command-line agents and a scripted model, over a restart of the gateway."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chat_page import ask, chat, idle, log, question, say
from tests.fakes.model_server.server import ModelServer
from tests.live.harness import bundled_behind_gateway

pytestmark = pytest.mark.live
Shot = Callable[[Page, str], Path]
START_MS = 60_000


def test_claude_keeps_its_model_and_mode_over_a_restart(page: Page, tmp_path: Path, shot: Shot) -> None:
    with ModelServer() as models, bundled_behind_gateway("claude", models.url, tmp_path) as gateway:
        thread = chat(page, gateway, "claude")
        page.get_by_test_id("picker-model").select_option("claude-haiku-4-5")
        ask(page, "hello")
        expect(log(page)).to_contain_text("You said: hello", timeout=START_MS)
        with page.expect_response("**/mode"):
            page.get_by_test_id("picker-mode").select_option("plan")
        page.goto("about:blank")
        gateway.terminate()
        gateway.start()
        models.forget()
        chat(page, gateway, "claude", thread)
        expect(page.get_by_test_id("picker-mode")).to_have_value("plan")
        expect(page.get_by_test_id("picker-model")).to_have_value("claude-haiku-4-5")
        shot(page, "claude-closed")
        ask(page, "still there?")
        expect(log(page)).to_contain_text("You said: still there?", timeout=START_MS)
        used = {request["body"]["model"] for request in models.requests() if "still there?" in str(request["body"])}
        assert any("haiku-4-5" in name for name in used), used
        shown = gateway.client.get(f"/agents/claude/capabilities?thread={thread}").json()["custom"]["session"]
        assert shown["modes"]["current"] == "plan"


def test_claude_goes_on_after_a_request_that_a_restart_ended(page: Page, tmp_path: Path, shot: Shot) -> None:
    with ModelServer() as models, bundled_behind_gateway("claude", models.url, tmp_path) as gateway:
        thread = chat(page, gateway, "claude")
        say(page, "SHELL touch allowed.txt")
        expect(question(page)).to_be_visible(timeout=START_MS)
        before = gateway.client.get(f"/agents/claude/threads/{thread}").json()["sessionId"]
        page.goto("about:blank")
        gateway.terminate()
        gateway.start()
        chat(page, gateway, "claude", thread)
        shot(page, "claude-expired")
        page.get_by_test_id("expired").get_by_role("button", name="Ask again").click()
        expect(log(page)).to_contain_text("You said: Your request expired", timeout=START_MS)
        idle(page)
        assert gateway.client.get(f"/agents/claude/threads/{thread}").json()["sessionId"] == before
        say(page, "SHELL touch allowed.txt")
        expect(question(page)).to_be_visible(timeout=START_MS)
        question(page).get_by_role("button", name=re.compile("^(Deny|No)")).first.click()
        idle(page)
        expect(page.get_by_test_id("tool-call").last).to_have_attribute("data-status", "denied")
        assert not (tmp_path / "work" / "allowed.txt").exists()
