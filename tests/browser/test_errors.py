"""What a person sees when the gateway is away, or locked, and how the page comes back."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chat_page import ask, box, chat, log
from tests.browser.conftest import Watched
from tests.support.gateway import Gateway

Shot = Callable[[Page, str], Path]
TOKEN = "ann-0123456789abcdef"
AWAY = "The gateway is out of reach"


@pytest.fixture
def own(tmp_path: Path, watched: Watched) -> Iterator[Gateway]:
    """A gateway that comes back at the same address."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    watched.allowed += ["ERR_", "Failed to load resource"]
    with Gateway(tmp_path, "--port", str(port)) as running:
        yield running


def test_an_idle_chat_says_that_the_gateway_is_away_and_comes_back(page: Page, own: Gateway, shot: Shot) -> None:
    chat(page, own)
    ask(page, "hello")
    expect(page.locator(".badge")).to_contain_text("Ready")
    own.kill()
    expect(page.locator(".composer .hint")).to_contain_text(AWAY)
    expect(page.locator(".badge")).to_contain_text("Out of reach")
    shot(page, "away-chat")
    own.start()
    expect(page.locator(".badge")).to_contain_text("Ready")
    expect(page.locator(".composer .hint")).to_be_empty()
    ask(page, "hello again")
    expect(log(page).get_by_text("You said: “hello again”")).to_have_count(1)
    page.goto("about:blank")


@pytest.mark.parametrize(
    ("name", "there"), [("agents", "Try it"), ("matrix", "httpBinary"), ("agents/demo", "httpBinary")]
)
def test_a_page_comes_when_the_gateway_does(page: Page, own: Gateway, shot: Shot, name: str, there: str) -> None:
    page.goto(f"{own.url}/#/compare?a=demo&b=echo")
    expect(page.get_by_role("table").first).to_be_visible()
    own.kill()
    page.evaluate("name => { location.hash = name }", "/" if name == "agents" else f"/{name}")
    trouble = page.get_by_test_id("trouble")
    expect(trouble).to_contain_text(AWAY)
    expect(trouble).not_to_contain_text("fetch")
    trouble.get_by_role("button", name="Try again").click()
    expect(trouble).to_contain_text(AWAY)
    shot(page, f"away-{name.replace('/', '-')}")
    own.start()
    expect(page.get_by_text(there).first).to_be_visible()
    page.goto("about:blank")


def test_the_list_of_agents_says_so_and_recovers(page: Page, own: Gateway) -> None:
    page.clock.install()
    page.goto(own.url)
    expect(page.get_by_text("Try it").first).to_be_visible()
    own.kill()
    page.clock.run_for(11_000)
    expect(page.get_by_test_id("trouble")).to_contain_text(AWAY)
    own.start()
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_test_id("trouble")).to_have_count(0)
    page.goto("about:blank")


# -- the token


@pytest.fixture
def locked(tmp_path: Path, watched: Watched) -> Iterator[Gateway]:
    tokens = tmp_path / "tokens.txt"
    tokens.write_text(f"ann:{TOKEN}\n", "utf-8")
    watched.allowed.append("401")
    with Gateway(tmp_path, "--token-file", str(tokens)) as running:
        yield running


def test_the_token_is_asked_for_where_one_types(page: Page, locked: Gateway, shot: Shot) -> None:
    page.goto(locked.url)
    dialog = page.get_by_role("dialog")
    expect(dialog.locator("input")).to_be_focused()
    page.keyboard.type("not the token")
    page.keyboard.press("Enter")
    expect(dialog.get_by_role("alert")).to_contain_text("does not know this token")
    expect(dialog.locator("input")).to_be_focused()
    shot(page, "token-wrong")
    page.keyboard.type(TOKEN)
    page.keyboard.press("Enter")
    expect(page.get_by_role("article", name="Demo")).to_be_visible()
    expect(dialog).to_have_count(0)
    chat(page, locked)
    ask(page, "hello")


def test_who_closes_the_dialog_can_open_it_again(page: Page, locked: Gateway, shot: Shot) -> None:
    page.goto(locked.url)
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(page.get_by_role("alert")).to_contain_text("This gateway is locked")
    shot(page, "token-locked")
    page.get_by_role("button", name="Enter the token").click()
    expect(dialog.locator("input")).to_be_focused()
    dialog.locator("input").fill(TOKEN)
    dialog.get_by_role("button", name="Use it").click()
    expect(page.get_by_role("article", name="Demo")).to_be_visible()


# -- dialogs


def test_a_dialog_goes_with_its_page(page: Page, gateway: Gateway) -> None:
    page.goto(gateway.url)
    expect(page.get_by_text("Try it").first).to_be_visible()
    page.goto(f"{gateway.url}/#/matrix")
    table = page.get_by_role("grid", name="Agents by capabilities")
    table.get_by_role("row", name=re.compile("httpBinary")).get_by_role("gridcell").first.click()
    expect(page.get_by_role("dialog")).to_be_visible()
    page.go_back()
    expect(page.get_by_text("Try it").first).to_be_visible()
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_the_palette_goes_too(page: Page, gateway: Gateway) -> None:
    chat(page, gateway)
    box(page).press("Control+k")
    expect(page.get_by_role("dialog").locator("input")).to_be_focused()
    page.evaluate("location.hash = '/'")
    expect(page.get_by_text("Try it").first).to_be_visible()
    expect(page.get_by_role("dialog")).to_have_count(0)
