"""The console's pages: agents, one agent, matrix, compare; size, accessibility, phone layout."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from axe_core_python.sync_playwright import Axe
from playwright.sync_api import Page, Request, expect

from tests.browser.chat_page import ask, chat
from tests.support.gateway import Gateway

Shot = Callable[[Page, str], Path]
MAX_FIRST_LOAD_BYTES = 150 * 1024
PAGES = {
    "agents": "#/",
    "agent": "#/agents/demo",
    "unavailable": "#/agents/claude",
    "matrix": "#/matrix",
    "compare": "#/compare?a=demo&b=echo",
    "chat": "#/agents/demo/chat",
}
EXPECTED_TEXT = {
    "agents": "Try it",
    "agent": "httpBinary",
    "unavailable": "Models",
    "matrix": "httpBinary",
    "compare": "reasoning",
}
"""A text of each complete page."""


def test_agents_are_cards_with_their_availability(page: Page, gateway: Gateway, shot: Shot) -> None:
    page.goto(gateway.url)
    demo = page.get_by_role("article", name="Demo")
    expect(demo).to_contain_text("Ready")
    expect(demo.get_by_role("link", name=re.compile("Try it"))).to_be_visible()
    goose = page.get_by_role("article", name=re.compile("goose", re.I))
    expect(goose).to_contain_text(re.compile("Not installed|Ready|sign", re.I))
    shot(page, "agents")


def test_one_click_opens_the_demo_chat(page: Page, gateway: Gateway) -> None:
    page.goto(gateway.url)
    page.get_by_role("article", name="Demo").get_by_role("link", name=re.compile("Try it")).click()
    ask(page, "tool")
    expect(page.get_by_test_id("log")).to_contain_text("In Oslo it is snow")


def test_agents_are_found_by_name_and_by_capability(page: Page, gateway: Gateway) -> None:
    page.goto(gateway.url)
    cards = page.get_by_role("article")
    expect(page.get_by_role("article", name="Demo")).to_be_visible()
    every = cards.count()
    page.get_by_label("Search agents").fill("echo")
    expect(cards).to_have_count(1)
    page.get_by_label("Search agents").fill("")
    expect(cards).to_have_count(every)
    page.get_by_role("button", name="subagents", exact=True).click()
    expect(page.get_by_role("article", name="Demo")).to_be_visible()
    expect(page.get_by_role("article", name="Echo")).to_have_count(0)


def test_an_agents_page_explains_every_capability(page: Page, gateway: Gateway, shot: Shot) -> None:
    page.goto(f"{gateway.url}/#/agents/demo")
    expect(page.get_by_role("heading", name="Demo").first).to_be_visible()
    row = page.locator("details", has_text="httpBinary").last
    row.locator("summary").click()
    expect(row).to_contain_text("gateway")
    expect(row).to_contain_text("what this gateway carries")
    shot(page, "agent")


def test_the_matrix_has_every_agent_and_shows_sources(page: Page, gateway: Gateway, shot: Shot) -> None:
    page.goto(f"{gateway.url}/#/matrix")
    table = page.get_by_role("grid", name="Agents by capabilities")
    expect(table).to_contain_text("httpBinary")
    for name in gateway.client.get("/capabilities/matrix").json()["agents"]:
        assert name in table.inner_text()
    table.get_by_role("row", name=re.compile("httpBinary")).get_by_role("gridcell").first.click()
    expect(page.get_by_text("what this gateway carries").first).to_be_visible()
    shot(page, "matrix")


def test_two_agents_are_compared(page: Page, gateway: Gateway, shot: Shot) -> None:
    page.goto(f"{gateway.url}/#/compare?a=demo&b=echo")
    table = page.get_by_role("table").first
    expect(table).to_contain_text("reasoning")
    expect(table).not_to_contain_text("httpBinary")
    shot(page, "compare")


def test_the_selected_theme_is_kept(page: Page, gateway: Gateway) -> None:
    page.goto(gateway.url)
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.get_by_role("button", name="Dark theme").click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before
    page.reload()
    expect(page.get_by_role("button", name="Light theme")).to_be_visible()


def test_an_unknown_page_shows_an_error(page: Page, gateway: Gateway) -> None:
    page.goto(f"{gateway.url}/#/nowhere")
    expect(page.get_by_role("alert")).to_contain_text("/nowhere")


@pytest.mark.parametrize("name", PAGES)
def test_the_first_load_is_small(page: Page, gateway: Gateway, name: str) -> None:
    """Counts the bytes on the wire: files and API responses."""
    loaded: list[Request] = []
    page.on("requestfinished", lambda request: loaded.append(request))
    if name == "chat":
        chat(page, gateway)
        expect(page.get_by_role("button", name="/approve")).to_be_visible()
    else:
        open_complete_page(page, gateway, name)
    sizes = {request.url: request.sizes()["responseBodySize"] for request in loaded}
    assert sizes[f"{gateway.url}/console/main.js"] > 0
    assert sum(sizes.values()) < MAX_FIRST_LOAD_BYTES, sizes


@pytest.mark.parametrize(
    ("name", "scheme"),
    [(name, scheme) for name in PAGES for scheme in ("light", "dark") if (name, scheme) != ("matrix", "dark")],
)  # the matrix has 3,000 cells, and takes axe twenty seconds
def test_axe_finds_nothing_serious(page: Page, gateway: Gateway, name: str, scheme: str) -> None:
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light", reduced_motion="reduce")
    open_complete_page(page, gateway, name)
    check_accessibility(page)


@pytest.mark.parametrize("name", [name for name in PAGES if name != "matrix"])
def test_axe_finds_nothing_serious_on_a_phone(page: Page, gateway: Gateway, name: str) -> None:
    page.set_viewport_size({"width": 375, "height": 720})
    page.emulate_media(reduced_motion="reduce")
    open_complete_page(page, gateway, name)
    check_accessibility(page)


def open_complete_page(page: Page, gateway: Gateway, name: str) -> None:
    """Opens the page with all of its content."""
    if name == "chat":
        chat(page, gateway)
        ask(page, "everything")
        ask(page, "approve")
        return
    page.goto(f"{gateway.url}/{PAGES[name]}")
    expect(page.locator("#page h1").first).to_be_visible()
    expect(page.get_by_text(EXPECTED_TEXT[name]).first).to_be_visible()


def check_accessibility(page: Page) -> None:
    violations = Axe().run(page)["violations"]
    details = [
        f"{rule['id']}: {node['target']} {node['failureSummary']}" for rule in violations for node in rule["nodes"]
    ]
    assert [rule["id"] for rule in violations if rule["impact"] in ("serious", "critical")] == [], "\n".join(details)


TRANSPORTS = """\
id = "several"
driver = "cli"
options = ["model"]
command = { run = ["surely-not-installed"] }
cli = { dialect = "text", process = "turn", transport = "stdio-raw" }

[identity]
name = "Several"

[[fallback]]
name = "plain"
driver = "cli"
command = { run = ["cat"] }
cli = { dialect = "text", process = "turn", transport = "stdio-raw" }
"""


def test_an_agents_page_says_which_transport_is_in_use_and_why(page: Page, tmp_path: Path, shot: Shot) -> None:
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "several.toml").write_text(TRANSPORTS, "utf-8")
    with Gateway(tmp_path / "gateway", "--agents", str(tmp_path / "agents")) as gateway:
        page.goto(f"{gateway.url}/#/agents/several")
        transports = page.get_by_test_id("transports").locator("li")
        expect(transports).to_have_count(2)
        expect(transports.nth(0)).to_contain_text("Its program is not installed.")
        expect(transports.nth(1)).to_contain_text("in use")
        expect(page.locator(".agent-head")).to_contain_text("over plain, its second choice")
        check_accessibility(page)
        shot(page, "agent-transports")
        page.goto(f"{gateway.url}/#/")
        listed = page.locator("article.agent").filter(has_text="Several")
        expect(listed).to_have_count(1)
        expect(listed).to_contain_text("over plain")


def test_the_send_button_is_round_on_a_phone(page: Page, gateway: Gateway) -> None:
    page.set_viewport_size({"width": 375, "height": 720})
    chat(page, gateway)
    size = page.get_by_role("button", name="Send").bounding_box()
    assert size is not None
    assert size["width"] == size["height"] >= 36


@pytest.mark.parametrize("name", PAGES)
def test_no_page_is_wider_than_a_phone(page: Page, gateway: Gateway, shot: Shot, name: str) -> None:
    page.set_viewport_size({"width": 375, "height": 720})
    page.goto(f"{gateway.url}/{PAGES[name]}")
    expect(page.locator("#page > *").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 375
    shot(page, f"phone-{name}")
