"""Answering an agent: where the focus goes, what a form gives back, what can be read before it is approved."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.chat_page import box, chat, idle, question, say
from tests.support.gateway import Gateway
from tests.web.agent_folder import write_agent

Shot = Callable[[Page, str], Path]

ASKING = """\
import json
from gateway.events import *

ARGS = {"path": "greet.py", "content": "def greet(name):\\n\\treturn f'Hello {name}'\\n\\n\\nprint(greet('you'))\\n",
        "mode": 420, "also": {"notes": ["one line", "two\\nlines"]}}
APPROVAL = {"type": "object", "properties": {"approved": {"type": "boolean"}}, "required": ["approved"]}

async def agent(turn):
    call = "c" + turn.run_id
    yield ToolCallStart(call, "write_file")
    yield ToolCallArgs(call, json.dumps(ARGS))
    yield ToolCallEnd(call)
    yield InterruptRequested((Interrupt("q" + turn.run_id, "tool_call", "May I write greet.py?", call, APPROVAL),))
"""


@pytest.fixture(scope="module")
def asking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    home = tmp_path_factory.mktemp("asking")
    write_agent(home / "agents", "asking", ASKING)
    with Gateway(home / "gateway", "--agents", str(home / "agents")) as running:
        yield running


@pytest.mark.parametrize("name", ["Approve", "Refuse", "Give up on it"])
def test_after_an_answer_the_reader_can_type_on(page: Page, gateway: Gateway, name: str) -> None:
    chat(page, gateway)
    say(page, "approve")
    expect(question(page)).to_be_visible()
    page.get_by_test_id("approvals").get_by_role("button", name=name, exact=True).press("Enter")
    expect(question(page)).to_have_count(0)
    expect(box(page)).to_be_focused()
    idle(page)
    expect(box(page)).to_be_focused()


def test_from_one_question_the_focus_goes_to_the_next(page: Page, gateway: Gateway) -> None:
    chat(page, gateway)
    say(page, "two approvals")
    expect(question(page)).to_have_count(2)
    question(page).nth(0).get_by_role("button", name="Approve", exact=True).press("Enter")
    expect(question(page).nth(1)).to_be_focused()
    question(page).nth(1).get_by_role("button", name="Refuse").press("Enter")
    expect(page.get_by_role("button", name="Send 2 answers")).to_be_focused()
    page.keyboard.press("Enter")
    expect(question(page)).to_have_count(0)
    expect(box(page)).to_be_focused()


def test_a_file_can_be_read_before_it_is_written(page: Page, asking: Gateway, shot: Shot) -> None:
    chat(page, asking, "asking")
    say(page, "write it")
    texts = question(page).get_by_test_id("args-text")
    expect(texts).to_have_count(2)
    assert texts.first.inner_text().splitlines()[:2] == ["def greet(name):", "\treturn f'Hello {name}'"]
    assert "\\n" not in question(page).inner_text()
    expect(question(page)).to_contain_text('"greet.py"')
    expect(question(page)).to_contain_text("420")
    shot(page, "approve-file")


# -- forms

FORM = """async ([schema, initial]) => {
  const { formFromSchema } = await import("./console/render/form.js");
  const form = formFromSchema(schema, { initial, submit: (value) => { window.sent = value; } });
  document.getElementById("page").replaceChildren(form.node);
}"""
NESTED = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string"},
        "address": {
            "type": "object",
            "required": ["street"],
            "properties": {
                "street": {"type": "string"},
                "floor": {"type": "integer", "default": 1},
                "lift": {"type": "boolean"},
            },
        },
        "mails": {"type": "array", "minItems": 1, "items": {"type": "string", "format": "email"}},
        "days": {"type": "array", "minItems": 1, "items": {"type": "string", "enum": ["sat", "sun"]}},
    },
}


def form(page: Page, gateway: Gateway, schema: dict[str, Any], initial: Any = None) -> None:
    page.goto(f"{gateway.url}/#/compare")
    expect(page.locator("#page h1")).to_be_visible()
    page.evaluate(FORM, [schema, initial])


def sent(page: Page) -> Any:
    page.get_by_role("button", name="Send").click()
    return page.evaluate("window.sent ?? null")


def test_what_is_optional_and_untouched_is_left_out(page: Page, gateway: Gateway) -> None:
    form(page, gateway, NESTED)
    page.get_by_label("name").fill("Ada")
    assert sent(page) == {"name": "Ada"}


def test_what_is_begun_must_be_finished_and_may_be_taken_back(page: Page, gateway: Gateway, shot: Shot) -> None:
    form(page, gateway, NESTED)
    page.get_by_label("name").fill("Ada")
    page.get_by_label("floor").fill("3")
    page.get_by_role("button", name="Add").click()
    page.get_by_label("Answer").fill("nobody")
    assert sent(page) is None
    expect(page.get_by_text("This is needed.")).to_be_visible()
    expect(page.get_by_text("This is not an e-mail address.")).to_be_visible()
    shot(page, "form-wrong")
    page.get_by_label("floor").fill("1")
    page.get_by_role("button", name="Remove entry").click()
    assert sent(page) == {"name": "Ada"}
    page.get_by_label("street").fill("Main St")
    assert sent(page) == {"name": "Ada", "address": {"street": "Main St", "floor": 1, "lift": False}}


def test_what_came_with_the_call_is_kept(page: Page, gateway: Gateway) -> None:
    given = {"name": "Ada", "address": {"street": "Main St", "floor": 2}, "mails": []}
    form(page, gateway, NESTED, given)
    told = sent(page)
    assert told is None  # a list that was given is checked
    page.get_by_role("button", name="Add").click()
    page.get_by_label("Answer").fill("a@b.example")
    assert sent(page) == {**given, "address": {**given["address"], "lift": False}, "mails": ["a@b.example"]}  # type: ignore[dict-item]


def test_moments_are_local_to_the_reader_and_exact_to_the_agent(browser: Browser, gateway: Gateway) -> None:
    context = browser.new_context(timezone_id="America/New_York")
    page = context.new_page()
    field = {"type": "string", "format": "date-time"}
    schema = {"type": "object", "properties": {"at": {**field, "default": "2026-01-02T15:04:05Z"}, "then": field}}
    form(page, gateway, schema)
    expect(page.get_by_label("at optional")).to_have_value("2026-01-02T10:04:05")
    page.get_by_label("then optional").fill("2026-07-01T08:30")
    assert sent(page) == {"at": "2026-01-02T15:04:05Z", "then": "2026-07-01T08:30:00-04:00"}
    context.close()
