"""A real Chromium, one for each test worker, and pages that must not complain.

`page` fails its test when the page logs an error, throws, or asks another host for anything. Screenshots are kept under
`.cache/screenshots`, to be looked at.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.browser.install import NoBrowser, chromium
from tests.support.gateway import Gateway
from tests.support.project import ROOT

SCREENSHOTS = ROOT / ".cache" / "screenshots"
LIMIT_MS = 20_000
expect.set_options(timeout=LIMIT_MS)
LOCAL = re.compile(r"^(https?://(127\.0\.0\.1|localhost)(:\d+)?/|data:|blob:|about:)")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    try:
        path = chromium()
    except NoBrowser as exc:
        pytest.skip(str(exc))
    # Containers have no sandbox of their own for it and a small /dev/shm; only our own pages are opened.
    flags = ["--no-sandbox", "--disable-dev-shm-usage", "--force-color-profile=srgb"]
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=flags)
        yield running
        running.close()


@pytest.fixture(scope="session")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with Gateway(tmp_path_factory.mktemp("browser")) as running:
        yield running


class Watched:
    """What a page said that no page should."""

    def __init__(self, page: Page) -> None:
        self.complaints: list[str] = []
        self.strangers: list[str] = []
        self.allowed: list[str] = []
        """Parts of complaints that a test expects."""
        page.on("console", lambda said: self._heard(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: self._heard(str(error)))
        page.on("request", lambda asked: None if LOCAL.match(asked.url) else self.strangers.append(asked.url))

    def _heard(self, text: str) -> None:
        self.complaints.append(text)

    def check(self) -> None:
        left = [said for said in self.complaints if not any(part in said for part in self.allowed)]
        assert left == []
        assert self.strangers == []


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    made = browser.new_context(viewport={"width": 1280, "height": 860})
    made.set_default_timeout(LIMIT_MS)
    yield made
    made.close()


@pytest.fixture
def watched(page: Page) -> Watched:
    """To name complaints that a test expects: `watched.allowed.append("…")`."""
    found: Watched = page.watched  # type: ignore[attr-defined]
    return found


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    made = context.new_page()
    made.watched = watch = Watched(made)  # type: ignore[attr-defined]
    yield made
    watch.check()


@pytest.fixture
def shot(request: pytest.FixtureRequest) -> Callable[[Page, str], Path]:
    """Keeps a picture of the page."""

    def take(page: Page, name: str) -> Path:
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        path = SCREENSHOTS / f"{name}.png"
        page.screenshot(path=str(path), full_page=os.environ.get("FULL") == "1")
        return path

    return take
