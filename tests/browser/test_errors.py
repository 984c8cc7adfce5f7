"""An unreachable gateway, a gateway that requires a token, and dialogs."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chat_page import ask, box, chat, log
from tests.browser.conftest import PageErrors
from tests.support.gateway import Gateway

Shot = Callable[[Page, str], Path]
TOKEN = "ann-0123456789abcdef"
UNREACHABLE = "The gateway cannot be reached"


@pytest.fixture
def restartable(tmp_path: Path, page_errors: PageErrors) -> Iterator[Gateway]:
    """A gateway that restarts at the same address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    page_errors.allowed += ["ERR_", "Failed to load resource"]
    with Gateway(tmp_path, "--port", str(port)) as running:
        yield running


def test_an_idle_chat_reports_an_unreachable_gateway_and_recovers(page: Page, restartable: Gateway, shot: Shot) -> None:
    chat(page, restartable)
    ask(page, "hello")
    expect(page.locator(".badge")).to_contain_text("Ready")
    restartable.kill()
    expect(page.locator(".composer .hint")).to_contain_text(UNREACHABLE)
    expect(page.locator(".badge")).to_contain_text("Unreachable")
    shot(page, "unreachable-chat")
    restartable.start()
    expect(page.locator(".badge")).to_contain_text("Ready")
    expect(page.locator(".composer .hint")).to_be_empty()
    ask(page, "hello again")
    expect(log(page).get_by_text("You said: “hello again”")).to_have_count(1)
    page.goto("about:blank")


@pytest.mark.parametrize(
    ("name", "content"), [("agents", "Try it"), ("matrix", "httpBinary"), ("agents/demo", "httpBinary")]
)
def test_a_page_loads_when_the_gateway_is_back(
    page: Page, restartable: Gateway, shot: Shot, name: str, content: str
) -> None:
    page.goto(f"{restartable.url}/#/compare?a=demo&b=echo")
    expect(page.get_by_role("table").first).to_be_visible()
    restartable.kill()
    page.evaluate("name => { location.hash = name }", "/" if name == "agents" else f"/{name}")
    notice = page.get_by_test_id("error-notice")
    expect(notice).to_contain_text(UNREACHABLE)
    expect(notice).not_to_contain_text("fetch")
    notice.get_by_role("button", name="Retry").click()
    expect(notice).to_contain_text(UNREACHABLE)
    shot(page, f"unreachable-{name.replace('/', '-')}")
    restartable.start()
    expect(page.get_by_text(content).first).to_be_visible()
    page.goto("about:blank")


def test_the_agents_page_reports_an_unreachable_gateway_and_recovers(page: Page, restartable: Gateway) -> None:
    page.clock.install()
    page.goto(restartable.url)
    expect(page.get_by_text("Try it").first).to_be_visible()
    restartable.kill()
    page.clock.run_for(11_000)
    expect(page.get_by_test_id("error-notice")).to_contain_text(UNREACHABLE)
    restartable.start()
    page.get_by_role("button", name="Retry").click()
    expect(page.get_by_test_id("error-notice")).to_have_count(0)
    page.goto("about:blank")


# -- the token


@pytest.fixture
def locked(tmp_path: Path, page_errors: PageErrors) -> Iterator[Gateway]:
    tokens = tmp_path / "tokens.txt"
    tokens.write_text(f"ann:{TOKEN}\n", "utf-8")
    tokens.chmod(0o600)
    page_errors.allowed.append("401")
    with Gateway(tmp_path, "--token-file", str(tokens)) as running:
        yield running


def test_the_token_dialog_checks_the_token(page: Page, locked: Gateway, shot: Shot) -> None:
    page.goto(locked.url)
    dialog = page.get_by_role("dialog")
    expect(dialog.locator("input")).to_be_focused()
    page.keyboard.type("not the token")
    page.keyboard.press("Enter")
    expect(dialog.get_by_role("alert")).to_contain_text("does not accept this token")
    expect(dialog.locator("input")).to_be_focused()
    shot(page, "token-wrong")
    page.keyboard.type(TOKEN)
    page.keyboard.press("Enter")
    expect(page.get_by_role("article", name="Demo")).to_be_visible()
    expect(dialog).to_have_count(0)
    chat(page, locked)
    ask(page, "hello")


def test_a_closed_token_dialog_can_be_opened_again(page: Page, locked: Gateway, shot: Shot) -> None:
    page.goto(locked.url)
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(page.get_by_role("alert")).to_contain_text("This gateway requires a token")
    shot(page, "token-locked")
    page.get_by_role("button", name="Enter token").click()
    expect(dialog.locator("input")).to_be_focused()
    dialog.locator("input").fill(TOKEN)
    dialog.get_by_role("button", name="Use token").click()
    expect(page.get_by_role("article", name="Demo")).to_be_visible()


# -- dialogs


def test_navigation_closes_a_dialog(page: Page, gateway: Gateway) -> None:
    page.goto(gateway.url)
    expect(page.get_by_text("Try it").first).to_be_visible()
    page.goto(f"{gateway.url}/#/matrix")
    table = page.get_by_role("grid", name="Agents by capabilities")
    table.get_by_role("row", name=re.compile("httpBinary")).get_by_role("gridcell").first.click()
    expect(page.get_by_role("dialog")).to_be_visible()
    page.go_back()
    expect(page.get_by_text("Try it").first).to_be_visible()
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_navigation_closes_the_palette(page: Page, gateway: Gateway) -> None:
    chat(page, gateway)
    box(page).press("Control+k")
    expect(page.get_by_role("dialog").locator("input")).to_be_focused()
    page.evaluate("location.hash = '/'")
    expect(page.get_by_text("Try it").first).to_be_visible()
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_the_printed_url_signs_in_and_leaves_no_token_in_the_address(page: Page, tmp_path: Path) -> None:
    """The token stands in the fragment, which browsers do not send, and goes from there into the tab's own storage."""
    with Gateway(tmp_path, env={"AGUI_GATEWAY_LOCAL_AUTH": "token"}) as running:
        token = (tmp_path / "agui-gateway" / "local-token").read_text().strip()
        assert f"{running.url}/#token={token}" in running.banner()
        page.goto(f"{running.url}/#token={token}")
        expect(page.get_by_role("article", name="Demo")).to_be_visible()
        expect(page.get_by_role("dialog")).to_have_count(0)
        assert token not in page.url and token not in page.evaluate("location.href")
        page.reload()
        expect(page.get_by_role("article", name="Demo")).to_be_visible()
        page.go_back()
        assert token not in page.url
        page.goto("about:blank")
