"""The console in a real Chromium: how long it is deaf while answers stream in, and how a long thread scrolls.

Answers are plain words in one paragraph, then Markdown in many, then many messages of Markdown: what is short to read
may be long to build. All of them are measured until the last word is shown, which is later than the run's end.

A task of the page's main thread is what a reader's key must wait for. Tasks are told by the browser itself (those of
50 ms and more), by the wall's clock: on a busy machine they are long for no fault of the page's, so the processor's
time for one event is told beside them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter, sleep
from typing import Any
from uuid import uuid4

from tests.bench.figures import Figure, Report, Target
from tests.bench.servers import JOB_LIMIT, Bench, open_gateway
from tests.support.gateway import Gateway

DELTAS = 20_000
MESSAGES = 2_000
LONGEST_MS = 100.0
STREAM, MARKDOWN, ARRIVING = "longest task, words", "longest task, Markdown", "longest task, messages"
SCROLL = "slowest scrolled frame"
POLL_S = 0.25
WATCH = """
window.tasks = [0];
new PerformanceObserver((list) => list.getEntries().forEach((task) => window.tasks.push(task.duration)))
  .observe({type: "longtask"});
"""
FRAMES = """
async () => {
  const log = document.querySelector('[data-testid="log"]'), times = [];
  let last = performance.now();
  for (let step = 0; step < 120; step += 1) {
    log.scrollTop = (log.scrollHeight - log.clientHeight) * (1 - step / 120);
    await new Promise(requestAnimationFrame);
    const now = performance.now();
    times.push(now - last);
    last = now;
  }
  return times;
}
"""


def measure(bench: Bench) -> Report:
    title = f"console, {DELTAS:,} deltas, {MESSAGES:,} messages"
    try:
        with open_gateway(bench.home / "console") as gateway, open_page() as page:
            heard = {case.name: streamed(page, gateway, case, bench.say) for case in CASES}
            frames = sorted(scrolled(page, gateway, bench.say))
    except Unavailable as exc:
        names = (*(case.name for case in CASES), SCROLL)
        return Report(title, [Figure(name, "ms", skipped=f"skipped: {exc}") for name in names])
    figures = [figure for case in CASES for figure in told(case, *heard[case.name])]
    figures += [Figure("scrolled frame", "ms", [frames[len(frames) // 2]]), Figure(SCROLL, "ms", [frames[-1]])]
    targets = [Target(f"console, {name} in ms", max(tasks), "≤", LONGEST_MS) for name, (tasks, _) in heard.items()]
    return Report(title, figures, targets)


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    agent: str
    words: str
    last: str
    """What is shown when all is."""
    each: int
    """Characters of each piece, at least."""
    pieces: int
    unit: str


CASES = (
    Case(STREAM, "single", str(DELTAS), f"{(DELTAS - 1) % 64:05d} ", 6, DELTAS, "delta"),
    Case(MARKDOWN, "markdown", f"deltas {DELTAS}", f"w{DELTAS - 1:05d} b", 8, DELTAS, "delta"),
    Case(ARRIVING, "markdown", f"messages {MESSAGES}", f"m{MESSAGES - 1:05d} b and code", 23, MESSAGES, "message"),
)


def told(case: Case, tasks: list[float], spent: float) -> list[Figure]:
    return [
        Figure(case.name, "ms", [max(tasks)]),
        Figure("tasks of 50 ms and more", "", [float(len(tasks) - 1)]),
        Figure("processor time of the page", f"µs/{case.unit}", [spent * 1_000_000 / case.pieces]),
    ]


class Unavailable(Exception):
    """There is no browser here."""


@contextmanager
def open_page() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    from tests.browser.install import NoBrowser, chromium

    try:
        path = chromium()
    except NoBrowser as exc:
        raise Unavailable(str(exc)) from exc
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-dev-shm-usage"])
        page = browser.new_page(viewport={"width": 1280, "height": 860})
        page.set_default_timeout(JOB_LIMIT * 1000)
        page.add_init_script(WATCH)
        yield page
        browser.close()


def streamed(page: Any, gateway: Gateway, case: Case, say: Callable[[str], None]) -> tuple[list[float], float]:
    """The long tasks from sending to the last word shown, and the page's processor seconds."""
    say(f"console, {case.name}")
    page.goto("about:blank")
    page.goto(f"{gateway.url}/#/agents/{case.agent}/chat/{uuid4().hex}")
    page.get_by_test_id("composer").fill(case.words)
    page.evaluate("window.tasks = [0]")
    meter = page.context.new_cdp_session(page)
    meter.send("Performance.enable")
    before = task_seconds(meter)
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Stop").wait_for(state="visible")
    page.get_by_role("button", name="Stop").wait_for(state="hidden")
    shown(page, case)
    return page.evaluate("window.tasks"), task_seconds(meter) - before


def shown(page: Any, case: Case) -> None:
    """Waits until all is there. Asked seldom: the question is a task of the page too."""
    deadline = perf_counter() + JOB_LIMIT
    while True:
        text = page.get_by_test_id("log").text_content()
        if len(text) >= case.pieces * case.each and case.last in text:
            return
        if perf_counter() > deadline:
            raise RuntimeError(f"the console shows {len(text)} characters of “{case.words}”")
        sleep(POLL_S)


def task_seconds(meter: Any) -> float:
    told = {one["name"]: one["value"] for one in meter.send("Performance.getMetrics")["metrics"]}
    return float(told["TaskDuration"])


def scrolled(page: Any, gateway: Gateway, say: Callable[[str], None]) -> list[float]:
    """Milliseconds of each frame, from the newest of many messages to the oldest."""
    say(f"console, {MESSAGES:,} messages")
    roles = ("user", "assistant")
    told = [
        {"id": str(number), "role": roles[number % 2], "content": f"**{number}** " + "some `words` of it " * 12}
        for number in range(MESSAGES)
    ]
    last = {"id": "last", "role": "user", "content": "1"}
    gateway.run("single", "1", threadId="scroll", messages=[*told, last])
    began = perf_counter()
    page.goto("about:blank")
    page.goto(f"{gateway.url}/#/agents/single/chat/scroll")
    page.get_by_text("00000").first.wait_for()
    say(f"console, {MESSAGES:,} messages were there after {perf_counter() - began:.1f} s")
    times: list[float] = page.evaluate(FRAMES)
    return times
