"""Requests whose turn is over: shown as expired, never as a question that cannot be answered."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.behaviour.acp.harness import Stage
from tests.browser.chat_page import box, call, chat, idle, log, question, say
from tests.browser.conftest import PageErrors
from tests.browser.test_approvals import WRITER
from tests.support.gateway import Gateway
from tests.web.agent_folder import write_agent

Shot = Callable[[Page, str], Path]


def test_after_a_restart_a_request_is_expired_and_can_be_asked_again(page: Page, tmp_path: Path, shot: Shot) -> None:
    write_agent(tmp_path / "agents", "writer", WRITER)
    with Gateway(tmp_path / "gateway", "--agents", str(tmp_path / "agents")) as gateway:
        thread = chat(page, gateway, "writer")
        say(page, "write it")
        expect(question(page)).to_be_visible()
        page.goto("about:blank")
        gateway.kill()
        gateway.start()
        chat(page, gateway, "writer", thread)
        expired = page.get_by_test_id("expired")
        expect(expired).to_contain_text("May I write greet.py?")
        expect(expired).to_contain_text("The gateway was restarted before you answered.")
        expect(question(page)).to_have_count(0)
        expect(call(page, "write_file")).to_have_attribute("data-status", "expired")
        expect(box(page)).to_be_enabled()
        shot(page, "expired")
        expired.get_by_role("button", name="Ask again").press("Enter")
        expect(question(page)).to_be_visible()
        expect(expired).to_have_count(0)
        question(page).get_by_role("button", name="Approve", exact=True).click()
        expect(question(page)).to_have_count(0)
        idle(page)


def test_asking_again_resumes_the_agents_session(page: Page, tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.agent("plain", stage.state("plain"))
    with stage:
        thread = chat(page, stage, "plain")
        say(page, "tool")
        expect(question(page)).to_be_visible()
        session = stage.asks(f"/agents/plain/threads/{thread}")["sessionId"]
        page.goto("about:blank")
        stage.terminate()
        stage.start()
        chat(page, stage, "plain", thread)
        page.get_by_test_id("expired").get_by_role("button", name="Ask again").click()
        expect(log(page)).to_contain_text("You said: Your request expired before I answered it.")
        idle(page)
        assert stage.received("plain", session, "session/load")
        assert stage.prompts("plain", session)[-1].endswith("ask again if you still need my answer.")


def test_a_request_that_is_not_answered_in_time_expires_on_the_open_page(page: Page, tmp_path: Path) -> None:
    with Gateway(tmp_path, env={"AGUI_GATEWAY_INTERRUPT_TTL": "1"}) as gateway:
        chat(page, gateway)
        say(page, "approve")
        expired = page.get_by_test_id("expired")
        expect(expired).to_contain_text("There was no answer in time.")
        expired.get_by_role("button", name="Dismiss").click()
        expect(expired).to_have_count(0)
        say(page, "hello")
        expect(log(page)).to_contain_text("You said: “hello”")
        idle(page)


def test_an_open_page_shows_after_a_restart_that_its_request_expired(
    page: Page, page_errors: PageErrors, tmp_path: Path
) -> None:
    page_errors.allowed += ["ERR_", "Failed to load resource"]
    with Gateway(tmp_path) as gateway:
        chat(page, gateway)
        say(page, "approve")
        expect(question(page)).to_be_visible()
        gateway.kill()
        gateway.start(int(gateway.url.rpartition(":")[2]))
        expect(page.get_by_test_id("expired")).to_be_visible()
        expect(question(page)).to_have_count(0)
        page.goto("about:blank")
