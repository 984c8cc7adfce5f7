"""The chat with the `demo` and `echo` agents."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.chat_page import ask, box, call, chat, idle, log, question, say
from tests.support.gateway import Gateway

Shot = Callable[[Page, str], Path]
PIXEL = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89" + (
    b"\x00\x00\x00\nIDATx\x9cc\x00\x01\x00\x00\x05\x00\x01\r\n-\xb4\x00\x00\x00\x00IEND\xaeB`\x82"
)


# -- output


def test_text_streams_in_as_markdown(page: Page, gateway: Gateway, shot: Shot) -> None:
    chat(page, gateway)
    ask(page, "markdown")
    expect(log(page).get_by_role("heading", name="What a frontend may receive")).to_be_visible()
    expect(log(page).locator("strong", has_text="bold text")).to_be_visible()
    expect(log(page).locator("table td", has_text="tools")).to_be_visible()
    expect(log(page).locator("pre", has_text="def greet")).to_be_visible()
    link = log(page).get_by_role("link", name="links")
    assert "noopener" in (link.get_attribute("rel") or "")
    shot(page, "chat-markdown")


def test_html_of_an_agent_is_only_text(page: Page, gateway: Gateway) -> None:
    chat(page, gateway)
    ask(page, "markdown")
    expect(log(page).get_by_text("<img src=x onerror=alert(1)>", exact=False).last).to_be_visible()
    assert log(page).locator("img[src=x]").count() == 0


def test_reasoning_is_shown_apart_from_the_answer(page: Page, gateway: Gateway) -> None:
    chat(page, gateway)
    ask(page, "think")
    expect(page.get_by_test_id("reasoning")).to_contain_text("They would like to see me think", ignore_case=True)


def test_a_tool_call_shows_arguments_and_result(page: Page, gateway: Gateway) -> None:
    chat(page, gateway)
    ask(page, "tool")
    weather = call(page, "get_weather")
    expect(weather).to_contain_text("city=Oslo")
    weather.locator("summary").click()
    expect(weather).to_contain_text("snow")


def test_an_edit_has_its_diff_and_a_command_its_output(page: Page, gateway: Gateway, shot: Shot) -> None:
    chat(page, gateway)
    ask(page, "edit")
    edit = call(page, "edit")
    expect(edit).to_contain_text("greet.py")
    expect(edit.get_by_text("def greet(name: str) -> None:")).to_be_visible()
    shell = call(page, "shell")
    shell.locator("summary").click()
    expect(shell.get_by_test_id("terminal")).to_contain_text("3 passed in 0.02s")
    shot(page, "chat-edit")


def test_plan_state_subagent_and_usage_are_shown(page: Page, gateway: Gateway, shot: Shot) -> None:
    chat(page, gateway)
    ask(page, "everything")
    expect(page.get_by_test_id("plan")).to_contain_text("Write the answer")
    expect(page.get_by_test_id("state").last).to_contain_text("progress")
    expect(page.get_by_test_id("subagent")).to_contain_text("scout")
    expect(page.get_by_test_id("run-end").last).to_contain_text("tokens")
    shot(page, "chat-everything")


def test_an_error_is_shown_with_its_message(page: Page, gateway: Gateway) -> None:
    chat(page, gateway)
    ask(page, "error")
    expect(log(page)).to_contain_text("This is the error you asked for. Nothing is wrong.")


# -- attachments


def test_attach_buttons_match_what_the_agent_accepts(page: Page, gateway: Gateway) -> None:
    chat(page, gateway)
    attach = page.get_by_role("form", name="Write a message").locator("input[type=file]")
    assert attach.count() > 0
    chat(page, gateway, "echo")
    expect(box(page)).to_be_visible()
    assert attach.count() == 0


def test_an_image_is_attached_and_shown(page: Page, gateway: Gateway) -> None:
    chat(page, gateway)
    page.locator("input[type=file][accept*=image]").first.set_input_files(
        {"name": "dot.png", "mimeType": "image/png", "buffer": PIXEL}
    )
    ask(page, "look")
    expect(log(page)).to_contain_text("image/png")
    expect(log(page).locator("img").first).to_be_visible()


# -- requests from the agent


def test_a_call_is_approved(page: Page, gateway: Gateway, shot: Shot) -> None:
    chat(page, gateway)
    say(page, "approve")
    expect(question(page)).to_contain_text("May I delete notes.txt?")
    expect(question(page)).to_contain_text("left")
    shot(page, "chat-approve")
    question(page).get_by_role("button", name="Approve", exact=True).click()
    expect(log(page)).to_contain_text("notes.txt is deleted")
    expect(question(page)).to_have_count(0)


def test_a_call_is_denied(page: Page, gateway: Gateway) -> None:
    chat(page, gateway)
    say(page, "approve")
    question(page).get_by_role("button", name="Deny").click()
    expect(log(page)).to_contain_text("notes.txt stays")


def test_a_call_is_approved_with_other_arguments(page: Page, gateway: Gateway) -> None:
    chat(page, gateway)
    say(page, "approve")
    question(page).get_by_role("button", name="Approve with changes").click()
    question(page).get_by_role("textbox").first.fill("other.txt")
    question(page).get_by_role("button", name=re.compile("^Approve")).first.click()
    expect(log(page)).to_contain_text("other.txt is deleted")


def test_two_questions_are_answered_together(page: Page, gateway: Gateway) -> None:
    chat(page, gateway)
    say(page, "two approvals")
    expect(question(page)).to_have_count(2)
    question(page).nth(0).get_by_role("button", name="Approve", exact=True).click()
    expect(question(page).nth(1)).to_be_visible()
    question(page).nth(1).get_by_role("button", name="Deny").click()
    page.get_by_role("button", name="Send 2 answers").click()
    expect(question(page)).to_have_count(0)
    idle(page)


def test_a_form_is_filled_in(page: Page, gateway: Gateway, shot: Shot) -> None:
    chat(page, gateway)
    say(page, "form")
    expect(question(page)).to_be_visible()
    shot(page, "chat-form")
    send = question(page).get_by_role("button", name="Send")
    question(page).get_by_label("name").fill("Ada")
    send.click()
    expect(question(page)).to_be_visible()  # seats are missing still
    question(page).get_by_label("seats").fill("2")
    send.click()
    expect(question(page)).to_have_count(0)
    expect(log(page)).to_contain_text("Ada")


def test_a_question_is_still_there_after_a_reload(page: Page, gateway: Gateway) -> None:
    chat(page, gateway)
    say(page, "approve")
    expect(question(page)).to_be_visible()
    page.reload()
    question(page).get_by_role("button", name="Approve", exact=True).click()
    expect(log(page)).to_contain_text("notes.txt is deleted")


# -- stop, reload, threads


def test_a_run_is_stopped(page: Page, gateway: Gateway) -> None:
    chat(page, gateway)
    say(page, "slow 600")
    expect(log(page)).to_contain_text("Slow and steady")
    page.get_by_role("button", name="Stop").click()
    idle(page)
    ask(page, "hello again")
    expect(log(page)).to_contain_text("You said: “hello again”")


def test_escape_stops_a_run(page: Page, gateway: Gateway) -> None:
    chat(page, gateway)
    say(page, "slow 600")
    expect(log(page)).to_contain_text("Slow and")
    box(page).press("Escape")
    idle(page)


def test_after_a_reload_the_run_continues(page: Page, gateway: Gateway) -> None:
    chat(page, gateway)
    say(page, "slow 12")
    expect(log(page)).to_contain_text("Slow and")
    page.reload()
    expect(log(page)).to_contain_text("Slow and steady: stop me, or leave and come back, and not")
    idle(page)
    assert log(page).inner_text().count("Slow and steady") == 1


def test_two_tabs_see_the_same_conversation(page: Page, gateway: Gateway, context: BrowserContext) -> None:
    thread = chat(page, gateway)
    say(page, "slow 10")
    expect(log(page)).to_contain_text("Slow and")
    other = context.new_page()
    chat(other, gateway, thread=thread)
    expect(log(other)).to_contain_text("Slow and steady: stop me, or leave and come back")
    idle(other)
    other.close()


def test_threads_are_listed_opened_and_deleted(page: Page, gateway: Gateway) -> None:
    first = chat(page, gateway)
    ask(page, f"remember {first}")
    chat(page, gateway)
    ask(page, "something else")
    row = page.get_by_test_id("history").get_by_role("listitem").filter(has=page.get_by_title(first, exact=True))
    row.get_by_role("link").click()
    expect(log(page)).to_contain_text(f"remember {first}")
    row.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(row).to_have_count(0)


def test_threads_are_titled_by_their_first_message(page: Page, gateway: Gateway) -> None:
    """The titles come from the list: the page does not load whole threads for them."""
    requested: list[str] = []
    text = f"remember {chat(page, gateway)}"
    ask(page, text)
    chat(page, gateway)
    page.on("request", lambda request: requested.append(request.url) if "/threads/" in request.url else None)
    page.reload()
    expect(page.get_by_test_id("history")).to_contain_text(text)
    page.goto(f"{gateway.url}/#/agents/demo")
    expect(page.locator(".threads")).to_contain_text(text)
    assert not [url for url in requested if text.split()[1] in url]


def test_running_and_waiting_threads_are_marked(page: Page, gateway: Gateway, shot: Shot) -> None:
    waiting = chat(page, gateway)
    ask(page, "approve")
    running = chat(page, gateway)
    say(page, "slow 600")
    expect(log(page)).to_contain_text("Slow and")
    chat(page, gateway)
    history = page.get_by_test_id("history").get_by_role("listitem")
    expect(history.filter(has=page.get_by_title(waiting, exact=True))).to_contain_text("waiting for you")
    expect(history.filter(has=page.get_by_title(running, exact=True))).to_contain_text("running")
    page.goto(f"{gateway.url}/#/agents/demo")
    expect(page.locator(".threads li", has=page.get_by_title(waiting, exact=True))).to_contain_text("waiting for you")
    expect(page.locator(".threads li", has=page.get_by_title(running, exact=True))).to_contain_text("running")
    shot(page, "threads-status")
    gateway.client.delete(f"/agents/demo/threads/{waiting}")
    gateway.client.post(f"/runs/{gateway.client.get(f'/agents/demo/threads/{running}').json()['runId']}/cancel")


def test_a_new_thread_is_listed_while_its_first_run_goes_on(page: Page, gateway: Gateway, shot: Shot) -> None:
    chat(page, gateway)
    say(page, "slow 600")
    expect(log(page)).to_contain_text("Slow and steady")
    own = page.get_by_test_id("history").locator("a[aria-current=page]")
    expect(own).to_contain_text("slow 600")
    expect(own).to_contain_text("running")
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    shot(page, "listed-while-running")
    page.get_by_role("button", name="Stop").click()
    idle(page)
    expect(own).not_to_contain_text("running")


def test_a_message_during_a_run_is_queued_and_delivered(page: Page, gateway: Gateway) -> None:
    chat(page, gateway)
    say(page, "slow 8")
    expect(log(page)).to_contain_text("Slow and")
    say(page, "and then this")
    expect(page.get_by_test_id("queued")).to_contain_text("and then this")
    expect(log(page)).to_contain_text("You said: “and then this”")
    idle(page)


# -- modes, commands, console tools, keys


def test_a_mode_set_in_one_tab_applies_in_all(page: Page, gateway: Gateway, context: BrowserContext) -> None:
    thread = chat(page, gateway)
    mode, other = page.get_by_test_id("picker-mode"), context.new_page()
    expect(mode).to_have_value("ask")
    chat(other, gateway, thread=thread)
    other.get_by_test_id("picker-mode").select_option("auto")
    expect(mode).to_have_value("auto")
    ask(page, "approve")
    expect(question(page)).to_have_count(0)
    expect(log(page)).to_contain_text("notes.txt is deleted")
    other.close()


def test_a_complete_command_is_sent_and_a_partial_one_is_completed(page: Page, gateway: Gateway) -> None:
    chat(page, gateway)
    say(page, "/tool")
    expect(log(page)).to_contain_text("/tool")
    expect(log(page)).not_to_contain_text("/tools")
    idle(page)
    box(page).fill("/every")
    box(page).press("Enter")
    expect(box(page)).to_have_value("/everything ")


def test_a_new_thread_suggests_messages(page: Page, gateway: Gateway) -> None:
    chat(page, gateway)
    page.get_by_role("button", name="/edit").click()
    expect(log(page)).to_contain_text("The greeting could be kinder.")
    idle(page)


def test_the_agent_calls_a_console_tool(page: Page, gateway: Gateway) -> None:
    chat(page, gateway)
    say(page, "frontend")
    tool = page.get_by_test_id("client-tool")
    expect(tool).to_be_visible()
    tool.get_by_role("button").first.click()
    expect(log(page)).to_contain_text("answered:")


def test_the_palette_is_opened_by_key(page: Page, gateway: Gateway) -> None:
    chat(page, gateway)
    box(page).press("Control+k")
    palette = page.get_by_role("dialog")
    expect(palette).to_be_visible()
    page.keyboard.press("Escape")
    expect(palette).to_be_hidden()


def test_shift_enter_starts_a_line_and_enter_sends(page: Page, gateway: Gateway) -> None:
    chat(page, gateway, "echo")
    box(page).press_sequentially("one")
    box(page).press("Shift+Enter")
    box(page).press_sequentially("two")
    box(page).press("Enter")
    idle(page)
    expect(log(page)).to_contain_text("two")


# -- the inspector


def test_events_are_listed_with_their_numbers(page: Page, gateway: Gateway, shot: Shot) -> None:
    chat(page, gateway)
    page.get_by_role("button", name="Inspector").click()
    ask(page, "tool")
    events = page.get_by_test_id("events")
    expect(events).to_contain_text("RUN_STARTED")
    expect(events).to_contain_text("TOOL_CALL_RESULT")
    expect(events).to_contain_text("RUN_FINISHED")
    page.get_by_role("searchbox", name="Filter events").fill("TOOL_CALL")
    expect(events).not_to_contain_text("RUN_STARTED")
    shot(page, "chat-inspector")


def test_a_run_can_be_received_as_protobuf(page: Page, gateway: Gateway) -> None:
    chat(page, gateway)
    page.get_by_role("button", name="Inspector").click()
    page.get_by_test_id("wire-format").select_option("protobuf")
    with page.expect_request(lambda request: request.method == "POST" and request.url.endswith("/agents/demo")) as sent:
        say(page, "tool")
    assert "proto" in (sent.value.headers.get("accept") or "")
    idle(page)
    expect(log(page)).to_contain_text("In Oslo it is snow")
    expect(page.get_by_test_id("events")).to_contain_text("TOOL_CALL_RESULT")


def test_a_run_can_be_received_over_a_websocket(page: Page, gateway: Gateway) -> None:
    chat(page, gateway)
    page.get_by_role("button", name="Inspector").click()
    page.get_by_test_id("wire-format").select_option("websocket")
    with page.expect_websocket() as opened:
        say(page, "slow 10")
    assert opened.value.url.endswith("/agents/demo/socket")
    expect(log(page)).to_contain_text("Slow and")
    page.reload()
    expect(log(page)).to_contain_text("Slow and steady: stop me, or leave and come")
    idle(page)
    expect(page.get_by_role("button", name="Stop")).to_be_hidden()


def test_the_snapshot_shows_the_layer_of_each_value(page: Page, gateway: Gateway, shot: Shot) -> None:
    chat(page, gateway)
    page.get_by_role("button", name="Inspector").click()
    page.get_by_role("tab", name="Snapshot").click()
    inspector = page.get_by_test_id("inspector")
    expect(inspector).to_contain_text("streaming")
    expect(inspector.locator(".layer.gateway").first).to_be_visible()
    expect(inspector.locator(".layer.profile").first).to_be_visible()
    shot(page, "chat-capabilities")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_usable_on_a_phone(page: Page, gateway: Gateway, shot: Shot, scheme: str) -> None:
    page.set_viewport_size({"width": 375, "height": 720})
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    chat(page, gateway)
    ask(page, "everything")
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert wide <= 375
    shot(page, f"phone-{scheme}")
