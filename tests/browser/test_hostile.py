"""Hostile agents: no script in their output runs, in any part of the page."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chat_page import ask, chat, log, say
from tests.support.gateway import Gateway
from tests.web.agent_folder import write_agent

HOSTILE = """\
import json
from gateway.events import *

BAD = ["<script>window.pwned=1</script>", "<img src=x onerror=window.pwned=1>", "<svg onload=window.pwned=1>",
       "[x](javascript:window.pwned=1)", "[x](JaVa\\tScRiPt:window.pwned=1)", "[x](data:text/html,<script>1</script>)",
       "![x](javascript:window.pwned=1)", "<a href='javascript:window.pwned=1'>x</a>", "<javascript:window.pwned=1>",
       "```\\n</code><script>window.pwned=1</script>\\n```", "`</code><img src=x onerror=window.pwned=1>`",
       "| <img src=x onerror=window.pwned=1> |\\n|---|\\n| <script>window.pwned=1</script> |",
       "# <img src=x onerror=window.pwned=1>", "> <iframe srcdoc='<script>parent.pwned=1</script>'>"]
ALL = "\\n\\n".join(BAD)

async def agent(turn):
    one = BAD[1]
    yield TextMessageContent(ALL)
    yield ReasoningMessageContent(ALL)
    acp = {"title": one, "kind": one, "locations": [{"path": one}]}
    yield ToolCallStart("c" + turn.run_id, one, metadata={"acp": acp})
    yield ToolCallArgs("c" + turn.run_id, json.dumps({one: ALL, "path": one, "old_string": one, "new_string": ALL}))
    yield ToolCallEnd("c" + turn.run_id)
    link = "\\x1b]8;;javascript:window.pwned=1\\x07x"
    shown = {"toolCallId": "c" + turn.run_id, "command": one, "output": [ALL, link]}
    yield ActivitySnapshot("t" + turn.run_id, "terminal", shown)
    diff = {"path": one, "oldText": one, "newText": ALL}
    yield ToolCallResult("c" + turn.run_id, ALL, metadata={"acp": {"diffs": [diff]}})
    yield ActivitySnapshot("p" + turn.run_id, "plan", {"entries": [{"content": one, "status": one, "priority": one}]})
    yield ActivitySnapshot("x" + turn.run_id, one, {one: ALL})
    yield StateSnapshot({one: ALL, "__proto__": {"x": one}})
    yield Custom(one, {one: ALL})
    yield Raw({one: ALL})
    yield Warning(one, ALL)
    yield SubagentStarted("s" + turn.run_id, one, description=one)
    yield TextMessageContent(ALL, subagent="s" + turn.run_id)
    yield SubagentFinished("s" + turn.run_id, result=ALL)
    field = {"type": "string", "title": one, "description": ALL, "enum": BAD}
    schema = {"type": "object", "title": one, "properties": {one: field}}
    url = {"url": "javascript:window.pwned=1"}
    yield InterruptRequested((Interrupt("q" + turn.run_id, one, one, response_schema=schema, metadata=url),))
"""


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    home = tmp_path_factory.mktemp("hostile")
    write_agent(home / "agents", "hostile", HOSTILE)
    with Gateway(home / "gateway", "--agents", str(home / "agents")) as running:
        yield running


def check_no_script_ran(page: Page) -> None:
    assert page.evaluate("window.pwned") is None
    assert page.locator("#page script, #page iframe, #page [onerror], #page [onload]").count() == 0
    links = page.locator("a").evaluate_all("nodes => nodes.map((node) => node.protocol)")
    assert set(links) <= {"http:", "https:", "mailto:"}


def test_no_script_of_an_agent_runs_in_the_chat(page: Page, hostile: Gateway) -> None:
    chat(page, hostile, "hostile")
    say(page, "hello")
    expect(page.get_by_test_id("interrupt")).to_be_visible()
    expect(log(page)).to_contain_text("<script>window.pwned=1</script>")
    page.locator("details").evaluate_all("nodes => nodes.forEach((node) => { node.open = true; })")
    check_no_script_ran(page)
    page.reload()
    expect(page.get_by_test_id("interrupt")).to_be_visible()
    check_no_script_ran(page)


def test_no_script_of_an_agent_runs_in_the_inspector(page: Page, hostile: Gateway) -> None:
    chat(page, hostile, "hostile")
    page.get_by_role("button", name="Inspector").click()
    say(page, "hello")
    expect(page.get_by_test_id("interrupt")).to_be_visible()
    for tab in page.get_by_role("tab").all():
        tab.click()
        check_no_script_ran(page)


def test_no_script_of_the_user_runs(page: Page, hostile: Gateway) -> None:
    chat(page, hostile, "echo")
    ask(page, "<img src=x onerror=window.pwned=1>")
    check_no_script_ran(page)
