"""The CopilotKit example in a real browser, directly connected to the gateway."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.install import built_app
from tests.support.gateway import Gateway


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *args: object) -> None:
        return None


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The built app on its own origin, with a gateway that allows that origin."""
    if not built_app().is_dir():
        pytest.skip("the CopilotKit app is not built: python -m tests.browser.install")
    folder = tmp_path_factory.mktemp("copilotkit")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=str(folder / "page")))
    address = f"http://127.0.0.1:{server.server_port}"
    with Gateway(folder / "gateway", "--allow-origin", address) as gateway:
        copy_app(folder / "page", gateway.url)
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        yield address
        server.shutdown()
        serving.join()
        server.server_close()


def copy_app(folder: Path, gateway: str) -> None:
    shutil.copytree(built_app(), folder)
    for path in folder.rglob("*.js"):
        path.write_text(path.read_text("utf-8").replace("GATEWAY_ADDRESS", gateway), "utf-8")


def say(page: Page, text: str) -> None:
    """When the agents are known: before that CopilotKit's chat does not send."""
    expect(page.get_by_label("Capabilities").get_by_role("heading")).to_be_visible()
    box = page.get_by_role("textbox")
    box.fill(text)
    box.press("Enter")


def test_it_shows_what_the_agent_can_do(page: Page, app: str, shot: Callable[[Page, str], Path]) -> None:
    page.goto(app)
    aside = page.get_by_label("Capabilities")
    expect(aside.get_by_role("heading")).to_have_text("Demo")
    expect(aside).to_contain_text("✓ Reasoning")
    shot(page, "copilotkit")


def test_another_agent_makes_another_page(page: Page, app: str) -> None:
    page.goto(f"{app}/?agent=echo")
    aside = page.get_by_label("Capabilities")
    expect(aside.get_by_role("heading")).to_have_text("Echo")
    expect(aside).to_contain_text("✗ Images")
    expect(aside).to_contain_text("✗ Subagents")


def test_it_streams_an_answer(page: Page, app: str) -> None:
    page.goto(app)
    say(page, "hello there")
    expect(page.get_by_text("You said: “hello there”")).to_be_visible()


def test_the_agent_changes_the_pages_background(page: Page, app: str) -> None:
    page.goto(app)
    say(page, "frontend")
    expect(page.get_by_text("the background is", exact=False)).to_be_visible()
    assert page.locator(".app").evaluate("node => node.style.background") != ""


@pytest.mark.parametrize(("button", "answer"), [("Allow", "notes.txt is deleted"), ("Deny", "notes.txt stays")])
def test_a_request_is_shown_and_answered(page: Page, app: str, button: str, answer: str) -> None:
    page.goto(app)
    say(page, "approve")
    request = page.get_by_label("The agent asks for approval")
    expect(request).to_contain_text("May I delete notes.txt?")
    request.get_by_role("button", name=button).click()
    expect(page.get_by_text(answer, exact=False).first).to_be_visible()
