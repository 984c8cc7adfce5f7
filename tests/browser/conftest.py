"""A real Chromium for each test worker, and pages that must not log errors.

`page` fails its test when the page logs an error, throws, or sends a request to another host. Screenshots are stored
under `.cache/screenshots` for review.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Request, expect, sync_playwright

from tests.browser.install import NoBrowser, chromium
from tests.support.gateway import Gateway
from tests.support.project import ROOT

SCREENSHOTS = ROOT / ".cache" / "screenshots"
TIMEOUT_MS = 20_000
expect.set_options(timeout=TIMEOUT_MS)
LOCAL = re.compile(r"^(https?://(127\.0\.0\.1|localhost)(:\d+)?/|data:|blob:|about:)")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    try:
        path = chromium()
    except NoBrowser as exc:
        pytest.skip(str(exc))
    # Containers often cannot run the sandbox and have a small /dev/shm. Only our own pages are opened.
    flags = ["--no-sandbox", "--disable-dev-shm-usage", "--force-color-profile=srgb"]
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=flags)
        yield running
        running.close()


@pytest.fixture(scope="session")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with Gateway(tmp_path_factory.mktemp("browser")) as running:
        yield running


class PageErrors:
    """Records errors of a page and its requests to other hosts."""

    def __init__(self, page: Page) -> None:
        self.errors: list[str] = []
        self.foreign_requests: list[str] = []
        self.allowed: list[str] = []
        """Parts of error messages that a test expects."""
        page.on("console", lambda message: self.errors.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", self._on_request)

    def _on_request(self, request: Request) -> None:
        if not LOCAL.match(request.url):
            self.foreign_requests.append(request.url)

    def check(self) -> None:
        unexpected = [text for text in self.errors if not any(part in text for part in self.allowed)]
        assert unexpected == []
        assert self.foreign_requests == []


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    new_context = browser.new_context(viewport={"width": 1280, "height": 860})
    new_context.set_default_timeout(TIMEOUT_MS)
    yield new_context
    new_context.close()


@pytest.fixture
def page_errors(page: Page) -> PageErrors:
    """To allow errors that a test expects: `page_errors.allowed.append("…")`."""
    errors: PageErrors = page.console_errors  # type: ignore[attr-defined]
    return errors


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    new_page = context.new_page()
    errors = PageErrors(new_page)
    new_page.console_errors = errors  # type: ignore[attr-defined]
    yield new_page
    errors.check()


@pytest.fixture
def shot(request: pytest.FixtureRequest) -> Callable[[Page, str], Path]:
    """Stores a screenshot of the page."""

    def take(page: Page, name: str) -> Path:
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        path = SCREENSHOTS / f"{name}.png"
        page.screenshot(path=str(path), full_page=os.environ.get("FULL") == "1")
        return path

    return take
