"""A thread after a reload, after a restart, and in a second window."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.chat_page import ask, box, chat, idle, log, question, say
from tests.browser.conftest import PageErrors
from tests.support.gateway import Gateway

Shot = Callable[[Page, str], Path]


def item_kinds(page: Page) -> list[str]:
    kinds: list[str] = page.locator(".items .item").evaluate_all("all => all.map((node) => node.dataset.kind)")
    return kinds


def test_an_error_is_still_shown_after_a_reload(page: Page, gateway: Gateway, shot: Shot) -> None:
    chat(page, gateway)
    ask(page, "error")
    ask(page, "hello")
    page.reload()
    expect(log(page)).to_contain_text("You said: “hello”")
    failure = page.get_by_test_id("notice").filter(has_text="This is the error you asked for.")
    expect(failure).to_have_count(1)
    assert failure.get_attribute("role") == "note"  # an old error is not announced
    failure.get_by_role("button", name="Retry").click()
    expect(box(page)).to_have_value("error")
    assert item_kinds(page) == ["message", "message", "run", "notice", "message", "message", "run"]
    shot(page, "reload-error")


def test_a_reload_shows_everything_that_was_there(page: Page, gateway: Gateway, shot: Shot) -> None:
    chat(page, gateway)
    ask(page, "everything")
    ask(page, "approve")
    question(page).get_by_role("button", name="Approve", exact=True).click()
    expect(log(page)).to_contain_text("notes.txt is deleted")
    idle(page)
    before = item_kinds(page)
    text = log(page).inner_text()
    page.reload()
    expect(log(page)).to_contain_text("notes.txt is deleted")
    assert item_kinds(page) == before
    assert log(page).inner_text() == text
    expect(page.get_by_test_id("subagent")).to_contain_text("Result:")
    expect(page.get_by_test_id("run-end").first).to_contain_text("tokens")
    page.get_by_role("button", name="Inspector").click()
    expect(page.get_by_test_id("events")).to_contain_text("SUBAGENT_FINISHED")
    shot(page, "reload-everything")


def test_a_stopped_run_is_marked_after_a_reload(page: Page, gateway: Gateway) -> None:
    chat(page, gateway)
    say(page, "slow 600")
    expect(log(page)).to_contain_text("Slow and steady")
    page.get_by_role("button", name="Stop").click()
    idle(page)
    page.reload()
    expect(page.get_by_test_id("run-end").filter(has_text="stopped")).to_have_count(1)


def test_a_run_that_a_restart_ended_is_marked(page: Page, page_errors: PageErrors, tmp_path: Path) -> None:
    page_errors.allowed += ["ERR_", "Failed to load resource"]
    with Gateway(tmp_path) as gateway:
        thread = chat(page, gateway)
        say(page, "slow 600")
        expect(log(page)).to_contain_text("Slow and steady")
        gateway.kill()
        gateway.start()
        chat(page, gateway, thread=thread)
        expect(log(page)).to_contain_text("GATEWAY_RESTARTED")
        page.goto("about:blank")


# -- two windows


def test_a_request_that_was_answered_elsewhere_disappears(
    page: Page, gateway: Gateway, context: BrowserContext
) -> None:
    thread, other = chat(page, gateway), context.new_page()
    say(page, "approve")
    expect(question(page)).to_be_visible()
    chat(other, gateway, thread=thread)
    question(other).get_by_role("button", name="Approve", exact=True).click()
    expect(log(other)).to_contain_text("notes.txt is deleted")
    expect(question(page)).to_have_count(0)
    expect(log(page)).to_contain_text("notes.txt is deleted")
    ask(other, "hello from there")
    expect(log(page).get_by_text("You said: “hello from there”")).to_have_count(1)
    other.close()


def test_a_late_answer_causes_no_error(page: Page, gateway: Gateway) -> None:
    page.add_init_script("window.setInterval = () => 0")  # without polling
    thread = chat(page, gateway)
    say(page, "approve")
    expect(question(page)).to_be_visible()
    thread_state = gateway.client.get(f"/agents/demo/threads/{thread}").json()
    answers = [
        {"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": True}}
        for interrupt in thread_state["interrupts"]
    ]
    gateway.run("demo", threadId=thread, messages=thread_state["messages"], resume=answers)
    question(page).get_by_role("button", name="Deny").click()
    expect(page.locator("#toasts")).to_contain_text("no longer open")
    expect(question(page)).to_have_count(0)
    expect(log(page)).to_contain_text("notes.txt is deleted")
    expect(page.get_by_test_id("notice")).to_have_count(0)
