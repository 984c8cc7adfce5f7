"""Approvals and forms: focus, returned values, and what the user can read before approving."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.chat_page import box, call, chat, idle, question, say
from tests.support.gateway import Gateway
from tests.web.agent_folder import write_agent

Shot = Callable[[Page, str], Path]

WRITER = """\
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


ASKER = """\
import json
from gateway.events import *

def choice(*options):
    return {"type": "string", "oneOf": [{"const": name, "title": name, "description": text} for name, text in options]}

SCHEMA = {"type": "object", "properties": {
    "db": {**choice(("Postgres", "For many writers."), ("SQLite", "One file, no server.")), "title": "Database",
           "description": "Which database shall I use?"},
    "extras": {"type": "array", "title": "Extras", "items": choice(("Logging", "Writes each query to a log."))}}}

async def agent(turn):
    call = "c" + turn.run_id
    yield ToolCallStart(call, "ask_user")
    yield ToolCallArgs(call, json.dumps({"questions": [{"question": "Which database shall I use?"}]}))
    yield ToolCallEnd(call)
    answers = yield InterruptRequested((Interrupt("q" + turn.run_id, "input_required", "Two questions", call, SCHEMA),))
    given = answers["q" + turn.run_id].payload
    yield TextMessageContent(", ".join([given["db"], *given["extras"]]))
"""


@pytest.fixture(scope="module")
def writer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    home = tmp_path_factory.mktemp("writer")
    write_agent(home / "agents", "writer", WRITER)
    write_agent(home / "agents", "asker", ASKER)
    with Gateway(home / "gateway", "--agents", str(home / "agents")) as running:
        yield running


@pytest.mark.parametrize("name", ["Approve", "Deny", "Cancel"])
def test_after_an_answer_the_composer_has_the_focus(page: Page, gateway: Gateway, name: str) -> None:
    chat(page, gateway)
    say(page, "approve")
    expect(question(page)).to_be_visible()
    page.get_by_test_id("approvals").get_by_role("button", name=name, exact=True).press("Enter")
    expect(question(page)).to_have_count(0)
    expect(box(page)).to_be_focused()
    idle(page)
    expect(box(page)).to_be_focused()


def test_after_one_answer_the_next_request_has_the_focus(page: Page, gateway: Gateway) -> None:
    chat(page, gateway)
    say(page, "two approvals")
    expect(question(page)).to_have_count(2)
    question(page).nth(0).get_by_role("button", name="Approve", exact=True).press("Enter")
    expect(question(page).nth(1)).to_be_focused()
    question(page).nth(1).get_by_role("button", name="Deny").press("Enter")
    expect(page.get_by_role("button", name="Send 2 answers")).to_be_focused()
    page.keyboard.press("Enter")
    expect(question(page)).to_have_count(0)
    expect(box(page)).to_be_focused()


def test_a_file_can_be_read_before_it_is_written(page: Page, writer: Gateway, shot: Shot) -> None:
    chat(page, writer, "writer")
    say(page, "write it")
    texts = question(page).get_by_test_id("args-text")
    expect(texts).to_have_count(2)
    assert texts.first.inner_text().splitlines()[:2] == ["def greet(name):", "\treturn f'Hello {name}'"]
    assert "\\n" not in question(page).inner_text()
    expect(question(page)).to_contain_text('"greet.py"')
    expect(question(page)).to_contain_text("420")
    shot(page, "approve-file")


@pytest.mark.parametrize("name", ["Deny", "Cancel"])
def test_a_denied_call_says_denied_also_after_a_reload(page: Page, gateway: Gateway, shot: Shot, name: str) -> None:
    chat(page, gateway)
    say(page, "approve")
    page.get_by_test_id("approvals").get_by_role("button", name=name, exact=True).click()
    expect(question(page)).to_have_count(0)
    idle(page)
    denied = call(page, "delete_file")
    expect(denied).to_have_attribute("data-status", "denied")
    expect(denied.locator("summary .tag")).to_have_text("denied")
    shot(page, "denied")
    page.reload()
    expect(call(page, "delete_file")).to_have_attribute("data-status", "denied")


def test_the_options_of_a_question_show_their_descriptions(page: Page, writer: Gateway, shot: Shot) -> None:
    chat(page, writer, "asker")
    say(page, "ask me")
    databases = question(page).get_by_role("group", name="Database")
    expect(databases.get_by_label("Postgres")).to_be_visible()
    expect(databases).to_contain_text("For many writers.")
    expect(databases).to_contain_text("One file, no server.")
    extras = question(page).get_by_role("group", name="Extras")
    expect(extras).to_contain_text("Writes each query to a log.")
    expect(question(page).get_by_label("Arguments")).to_be_hidden()
    shot(page, "question")
    databases.get_by_label("SQLite").check()
    extras.get_by_label("Logging").check()
    question(page).get_by_role("button", name="Send").click()
    expect(page.get_by_test_id("log")).to_contain_text("SQLite, Logging")


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


def show_form(page: Page, gateway: Gateway, schema: dict[str, Any], initial: Any = None) -> None:
    page.goto(f"{gateway.url}/#/compare")
    expect(page.locator("#page h1")).to_be_visible()
    page.evaluate(FORM, [schema, initial])


def submit(page: Page) -> Any:
    page.get_by_role("button", name="Send").click()
    return page.evaluate("window.sent ?? null")


def test_untouched_optional_fields_are_left_out(page: Page, gateway: Gateway) -> None:
    show_form(page, gateway, NESTED)
    page.get_by_label("name").fill("Ada")
    assert submit(page) == {"name": "Ada"}


def test_a_partly_filled_optional_group_must_be_valid_and_can_be_emptied(
    page: Page, gateway: Gateway, shot: Shot
) -> None:
    show_form(page, gateway, NESTED)
    page.get_by_label("name").fill("Ada")
    page.get_by_label("floor").fill("3")
    page.get_by_role("button", name="Add").click()
    page.get_by_label("Answer").fill("no address")
    assert submit(page) is None
    expect(page.get_by_text("This field is required.")).to_be_visible()
    expect(page.get_by_text("This is not an e-mail address.")).to_be_visible()
    shot(page, "form-wrong")
    page.get_by_label("floor").fill("1")
    page.get_by_role("button", name="Remove entry").click()
    assert submit(page) == {"name": "Ada"}
    page.get_by_label("street").fill("Main St")
    assert submit(page) == {"name": "Ada", "address": {"street": "Main St", "floor": 1, "lift": False}}


def test_initial_values_are_kept(page: Page, gateway: Gateway) -> None:
    initial = {"name": "Ada", "address": {"street": "Main St", "floor": 2}, "mails": []}
    show_form(page, gateway, NESTED, initial)
    assert submit(page) is None  # a list with an initial value is checked
    page.get_by_role("button", name="Add").click()
    page.get_by_label("Answer").fill("a@b.example")
    assert submit(page) == {**initial, "address": {**initial["address"], "lift": False}, "mails": ["a@b.example"]}  # type: ignore[dict-item]


def test_times_are_shown_locally_and_sent_with_an_offset(browser: Browser, gateway: Gateway) -> None:
    context = browser.new_context(timezone_id="America/New_York")
    page = context.new_page()
    field = {"type": "string", "format": "date-time"}
    schema = {"type": "object", "properties": {"at": {**field, "default": "2026-01-02T15:04:05Z"}, "then": field}}
    show_form(page, gateway, schema)
    expect(page.get_by_label("at (optional)")).to_have_value("2026-01-02T10:04:05")
    page.get_by_label("then (optional)").fill("2026-07-01T08:30")
    assert submit(page) == {"at": "2026-01-02T15:04:05Z", "then": "2026-07-01T08:30:00-04:00"}
    context.close()
