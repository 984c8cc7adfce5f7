"""Words for a turn under way: heard when the agent says so, and no turn ends with words that its agent still holds."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.events import Event, TurnEnded, TurnFailed, UserMessageAccepted, Warning
from gateway.wire.dialects import DIALECTS, Prompt
from gateway.wire.dialects.claude import ClaudeDialect
from gateway.wire.dialects.pi import OmpRpc
from tests.wire.dialects import codex_replay, copilot_server, opencode_server
from tests.wire.dialects.claude_conversation import failed, prompted, result
from tests.wire.dialects.claude_conversation import read as read_lines
from tests.wire.dialects.claude_replay import sent as claude_sent
from tests.wire.dialects.pi_replay import reply, sent
from tests.wire.dialects.test_omp import started as omp_started
from tests.wire.dialects.test_pi_turns import read, started

WORDS = UserMessageAccepted("m1", "mind the gap")
Json = dict[str, Any]


def test_just_these_take_words_for_a_turn_under_way() -> None:
    steered = {name for name, dialect in DIALECTS.items() if dialect.can_steer}
    assert steered == {"claude", "codex", "copilot", "opencode", "pi", "omp"}


# -- Claude Code


def moved(uuid: str, state: str) -> Json:
    return {"type": "command_lifecycle", "command_uuid": uuid, "state": state}


def steered() -> tuple[ClaudeDialect, str, str]:
    """In a turn, with words in the queue; the uuids of the prompt and of the words."""
    dialect = prompted()
    assert not dialect.steer("m1", "mind the gap"), "it has not said where the prompt stands: an old version, perhaps"
    assert claude_sent(dialect) == []
    read_lines(dialect, moved(dialect._prompt_uuid, "started"))
    assert dialect.steer("m1", "mind the gap")
    [line] = claude_sent(dialect)
    assert line["message"]["content"] == [{"type": "text", "text": "mind the gap"}]
    assert read_lines(dialect, moved(line["uuid"], "queued")) == []
    return dialect, dialect._prompt_uuid, line["uuid"]


def test_claude_folds_them_in_and_the_result_answers_both() -> None:
    dialect, prompt, words = steered()
    assert read_lines(dialect, moved(words, "started")) == [WORDS]
    assert read_lines(dialect, moved(words, "completed")) == []
    assert read_lines(dialect, result(user_message_uuids=[prompt, words])) == [TurnEnded()]


def test_claude_begins_a_turn_of_their_own_and_ours_goes_on_with_it() -> None:
    dialect, prompt, words = steered()
    assert read_lines(dialect, result(user_message_uuids=[prompt])) == []
    assert dialect.is_busy
    idle = {"type": "system", "subtype": "session_state_changed", "state": "idle"}
    assert read_lines(dialect, idle) == [], "the words may still be on their way"
    assert read_lines(dialect, moved(words, "started")) == [WORDS]
    assert read_lines(dialect, result(user_message_uuids=[words])) == [TurnEnded()]


def test_a_failure_that_claude_goes_on_after_is_a_warning() -> None:
    dialect, prompt, words = steered()
    [warned] = read_lines(dialect, failed(user_message_uuids=[prompt], result="no such model"))
    assert isinstance(warned, Warning) and warned.message == "no such model"
    read_lines(dialect, moved(words, "started"))
    [broke] = read_lines(dialect, failed(user_message_uuids=[words], result="again"))
    assert isinstance(broke, TurnFailed) and broke.message == "again"


def test_words_that_claude_drops_are_not_heard() -> None:
    dialect, prompt, words = steered()
    assert read_lines(dialect, result(user_message_uuids=[prompt])) == []
    assert read_lines(dialect, moved(words, "discarded")) == [TurnEnded()]


def test_a_cancelled_turn_of_claudes_takes_its_queue_along() -> None:
    dialect, prompt, words = steered()
    dialect.cancel()
    [request] = claude_sent(dialect)
    assert request["request"]["cancel_queued"] is True
    assert read_lines(dialect, moved(words, "cancelled")) == []
    aborted = failed(user_message_uuids=[prompt], terminal_reason="aborted_streaming")
    assert read_lines(dialect, aborted) == [TurnEnded("cancelled")]


# -- Codex


def test_codex_gives_the_words_back_when_it_has_taken_them_up() -> None:
    dialect = codex_replay.prompted()
    codex_replay.notify(dialect, "turn/started", turn={"id": "turn"})
    assert dialect.steer("m1", "mind the gap")
    request = codex_replay.sent(dialect)[-1]
    assert request["method"] == "turn/steer"
    name = request["params"]["clientUserMessageId"]
    message = {"type": "userMessage", "id": "i1", "clientId": name, "content": []}
    assert codex_replay.notify(dialect, "item/started", item=message) == [WORDS]
    assert codex_replay.notify(dialect, "item/completed", item=message) == []
    assert codex_replay.notify(dialect, "item/started", item=message) == [], "once"


def test_words_before_codex_has_begun_the_turn_are_not_sent() -> None:
    dialect = codex_replay.ready()
    dialect.prompt(Prompt([{"type": "text", "text": "hello"}], "t1"))
    codex_replay.sent(dialect)
    assert not dialect.steer("m1", "mind the gap")
    assert codex_replay.sent(dialect) == []


# -- pi


def said(words: str = WORDS.text) -> Json:
    return {"type": "message_start", "message": {"role": "user", "content": [{"type": "text", "text": words}]}}


def test_pi_has_heard_what_is_a_message_of_the_conversation() -> None:
    pi = started()
    assert pi.steer("m1", "mind the gap")
    [command] = sent(pi)
    assert command["type"] == "steer"
    assert pi.read([reply(command, {"disposition": "queued"})]) == []
    assert read(pi, said("hello")) == []
    assert read(pi, said()) == [WORDS]
    assert read(pi, {"type": "agent_end"}, {"type": "agent_settled"})[-1:] == [TurnEnded()]


@pytest.mark.parametrize(("back", "heard"), [(["mind the gap"], []), ([], [WORDS])])
def test_what_pi_still_holds_at_the_end_is_taken_out_of_its_queue(back: list[str], heard: list[Event]) -> None:
    pi = started()
    pi.steer("m1", "mind the gap")
    [command] = sent(pi)
    assert read(pi, {"type": "agent_end"}, {"type": "agent_settled"}) == []
    assert sent(pi) == [], "it has not said yet whether it took them"
    assert not pi.steer("m2", "too late")
    pi.read([reply(command, {"disposition": "queued"})])
    [clear] = sent(pi)
    assert clear["type"] == "clear_queue"
    assert pi.read([reply(clear, {"steering": back, "followUp": []})]) == [*heard, TurnEnded()]
    assert pi.is_ready


def test_a_pi_that_cannot_give_them_back_is_replaced() -> None:
    pi = started()
    pi.steer("m1", "mind the gap")
    pi.read([reply(sent(pi)[0])])
    read(pi, {"type": "agent_end"}, {"type": "agent_settled"})
    assert pi.read([reply(sent(pi)[0], success=False, error="Unknown command")]) == [TurnEnded()]
    assert not pi.is_ready


def test_a_command_is_no_message() -> None:
    assert not started().steer("m1", "/compact")


# -- omp


def test_omp_goes_on_with_words_that_came_too_late_and_is_stopped_again() -> None:
    omp: OmpRpc = omp_started()
    omp.steer("m1", "mind the gap")
    omp.read([reply(sent(omp)[0])])
    omp.cancel()
    [abort] = sent(omp)
    assert read(omp, {"type": "agent_end", "isTerminal": True}) == []
    omp.read([reply(abort)])
    look = sent(omp)[0]
    assert look["type"] == "get_state"
    assert read(omp, {"type": "agent_start"}) == []
    assert [command["type"] for command in sent(omp)] == ["abort"]
    assert omp.read([reply(look, {"isStreaming": True, "queuedMessageCount": 0})]) == []
    assert read(omp, said()) == [WORDS]
    assert read(omp, {"type": "agent_end", "isTerminal": True}) == [TurnEnded("cancelled")]


# -- Copilot


def copilots() -> tuple[copilot_server.Server, Json]:
    server = copilot_server.in_turn()
    assert server.dialect.steer("m1", "mind the gap")
    return server, server.request("session.send")


def test_copilot_has_heard_what_comes_back_under_the_name_it_gave() -> None:
    server, request = copilots()
    assert request["params"]["mode"] == "immediate"
    assert server.tell("session.idle") == [], "the words are on their way"
    assert server.reply(request, {"messageId": "w"}) == []
    assert server.tell("user.message", messageId="w", content=WORDS.text) == [WORDS]
    assert server.tell("session.idle") == [TurnEnded()]


def test_copilot_may_be_faster_than_its_answer() -> None:
    server, request = copilots()
    server.tell("user.message", messageId="w", content=WORDS.text)
    assert server.reply(request, {"messageId": "w"}) == [WORDS]


@pytest.mark.parametrize("removed", [True, False])
def test_copilots_words_are_taken_back_before_it_is_stopped(removed: bool) -> None:
    server, request = copilots()
    server.dialect.cancel()
    assert server.asked() == []
    server.reply(request, {"messageId": "w"})
    withdraw = server.request("session.queue.withdrawMessage")
    assert withdraw["params"]["expectedPrompt"] == WORDS.text
    server.reply(withdraw, {"removed": removed, "interrupted": False})
    assert [one["method"] for one in server.asked()] == ["session.abort"]
    if not removed:
        assert server.tell("session.idle") == []
        assert server.tell("user.message", messageId="w") == [WORDS]
        assert [one["method"] for one in server.asked()] == ["session.abort"], "it has gone on with them"
    assert server.tell("session.idle") == [TurnEnded("cancelled")]


def test_words_that_copilot_refuses_keep_no_turn_open() -> None:
    server, request = copilots()
    assert server.tell("session.idle") == []
    assert server.reply(request, error={"code": -32603, "message": "no"}) == [TurnEnded()]


# -- opencode


def opencodes() -> opencode_server.Server:
    server = opencode_server.working(model="p/m")
    assert server.dialect.steer("m1", "mind the gap")
    [call] = server.sent()
    assert call["body"]["model"] == {"providerID": "p", "modelID": "m"}, "as the turn's own"
    server.read({"id": call["id"], "status": 204, "body": None})
    return server


def test_opencode_has_heard_what_it_answers_to() -> None:
    server = opencodes()
    assert server.part("prt_9", "text", "msg_2", text=WORDS.text) == []
    assert server.done() == []
    assert server.idle() == [], "it goes on with them"
    assert server.writes("msg_3", parentID="msg_2") == [WORDS]
    assert server.done("msg_3", parentID="msg_2") == []
    assert server.idle() == [TurnEnded()]


@pytest.mark.parametrize(("status", "heard"), [(200, []), (400, [WORDS])])
def test_what_opencode_was_stopped_before_is_deleted_or_else_it_knows_it(status: int, heard: list[Event]) -> None:
    server = opencodes()
    server.dialect.cancel()
    assert server.sent() == [], "the words would be answered after it"
    server.part("prt_9", "text", "msg_2", text=WORDS.text)
    assert [call["path"].partition("?")[0] for call in server.sent()] == [f"/session/{opencode_server.SESSION}/abort"]
    server.done(error={"name": "MessageAbortedError", "data": {}})
    assert server.idle() == []
    [call] = server.sent()
    assert call["method"] == "DELETE" and "/message/msg_2?" in call["path"]
    assert server.read({"id": call["id"], "status": status, "body": True}) == [*heard, TurnEnded("cancelled")]


def test_words_that_opencode_refuses_keep_no_turn_open() -> None:
    server = opencode_server.working()
    server.dialect.steer("m1", "mind the gap")
    [call] = server.sent()
    server.done()
    assert server.idle() == []
    assert server.read({"id": call["id"], "status": 400, "body": {"message": "no"}}) == [TurnEnded()]
