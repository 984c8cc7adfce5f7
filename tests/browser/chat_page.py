"""User actions in the console's chat."""

from __future__ import annotations

from uuid import uuid4

from playwright.sync_api import Locator, Page, expect

from tests.support.gateway import Gateway


def chat(page: Page, gateway: Gateway, agent: str = "demo", thread: str | None = None) -> str:
    """Opens a chat and returns its thread id."""
    thread = thread or f"thread-{uuid4().hex[:8]}"
    page.goto("about:blank")  # an open chat would stay visible until the next one is loaded
    page.goto(f"{gateway.url}/#/agents/{agent}/chat/{thread}")
    expect(box(page)).to_be_visible()
    return thread


def box(page: Page) -> Locator:
    return page.get_by_test_id("composer")


def log(page: Page) -> Locator:
    return page.get_by_test_id("log")


def say(page: Page, text: str) -> None:
    box(page).fill(text)
    box(page).press("Enter")


def idle(page: Page) -> None:
    """Waits until no run is active."""
    expect(page.get_by_role("button", name="Stop")).to_be_hidden()


def ask(page: Page, text: str) -> None:
    """Sends the text and waits for the end of the run."""
    say(page, text)
    expect(log(page).get_by_text(text, exact=True).last).to_be_visible()
    idle(page)


def call(page: Page, name: str) -> Locator:
    """The newest call of a tool."""
    return page.get_by_test_id("tool-call").filter(has_text=name).last


def question(page: Page) -> Locator:
    return page.get_by_test_id("interrupt")
