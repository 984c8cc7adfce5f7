"""Messages of the user's during a turn: accepted when the agent reports it; no turn ends while its agent holds one."""

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
from tests.wire.dialects.hermes_live import HermesSession
from tests.wire.dialects.pi_replay import reply, sent
from tests.wire.dialects.test_omp import started as omp_started
from tests.wire.dialects.test_pi_turns import read, started

ACCEPTED = UserMessageAccepted("m1", "mind the gap")
Json = dict[str, Any]


def test_these_dialects_can_steer() -> None:
    steered = {name for name, dialect in DIALECTS.items() if dialect.can_steer}
    assert steered == {"claude", "codex", "copilot", "opencode", "pi", "omp", "hermes"}


# -- Claude Code


def moved(uuid: str, state: str) -> Json:
    return {"type": "command_lifecycle", "command_uuid": uuid, "state": state}


def steered() -> tuple[ClaudeDialect, str, str]:
    """In a turn, with a message in the queue; the uuids of the prompt and of the message."""
    dialect = prompted()
    assert not dialect.steer("m1", "mind the gap"), (
        "it has not reported the state of the prompt: an old version, perhaps"
    )
    assert claude_sent(dialect) == []
    read_lines(dialect, moved(dialect._prompt_uuid, "started"))
    assert dialect.steer("m1", "mind the gap")
    [line] = claude_sent(dialect)
    assert line["message"]["content"] == [{"type": "text", "text": "mind the gap"}]
    assert read_lines(dialect, moved(line["uuid"], "queued")) == []
    return dialect, dialect._prompt_uuid, line["uuid"]


def test_claude_folds_them_in_and_the_result_answers_both() -> None:
    dialect, prompt, message_uuid = steered()
    assert read_lines(dialect, moved(message_uuid, "started")) == [ACCEPTED]
    assert read_lines(dialect, moved(message_uuid, "completed")) == []
    assert read_lines(dialect, result(user_message_uuids=[prompt, message_uuid])) == [TurnEnded()]


def test_claude_starts_a_turn_for_the_message_and_the_turn_goes_on_with_it() -> None:
    dialect, prompt, message_uuid = steered()
    assert read_lines(dialect, result(user_message_uuids=[prompt])) == []
    assert dialect.is_busy
    idle = {"type": "system", "subtype": "session_state_changed", "state": "idle"}
    assert read_lines(dialect, idle) == [], "the message may still be on its way"
    assert read_lines(dialect, moved(message_uuid, "started")) == [ACCEPTED]
    assert read_lines(dialect, result(user_message_uuids=[message_uuid])) == [TurnEnded()]


def test_a_failure_that_claude_goes_on_after_is_a_warning() -> None:
    dialect, prompt, message_uuid = steered()
    [warned] = read_lines(dialect, failed(user_message_uuids=[prompt], result="no such model"))
    assert isinstance(warned, Warning) and warned.message == "no such model"
    read_lines(dialect, moved(message_uuid, "started"))
    [broke] = read_lines(dialect, failed(user_message_uuids=[message_uuid], result="again"))
    assert isinstance(broke, TurnFailed) and broke.message == "again"


def test_a_message_that_claude_drops_is_not_accepted() -> None:
    dialect, prompt, message_uuid = steered()
    assert read_lines(dialect, result(user_message_uuids=[prompt])) == []
    assert read_lines(dialect, moved(message_uuid, "discarded")) == [TurnEnded()]


def test_a_cancelled_turn_of_claude_clears_its_queue() -> None:
    dialect, prompt, message_uuid = steered()
    dialect.cancel()
    [request] = claude_sent(dialect)
    assert request["request"]["cancel_queued"] is True
    assert read_lines(dialect, moved(message_uuid, "cancelled")) == []
    aborted = failed(user_message_uuids=[prompt], terminal_reason="aborted_streaming")
    assert read_lines(dialect, aborted) == [TurnEnded("cancelled")]


# -- Codex


def test_codex_echoes_the_message_when_it_has_taken_it_up() -> None:
    dialect = codex_replay.prompted()
    codex_replay.notify(dialect, "turn/started", turn={"id": "turn"})
    assert dialect.steer("m1", "mind the gap")
    request = codex_replay.sent(dialect)[-1]
    assert request["method"] == "turn/steer"
    name = request["params"]["clientUserMessageId"]
    message = {"type": "userMessage", "id": "i1", "clientId": name, "content": []}
    assert codex_replay.notify(dialect, "item/started", item=message) == [ACCEPTED]
    assert codex_replay.notify(dialect, "item/completed", item=message) == []
    assert codex_replay.notify(dialect, "item/started", item=message) == [], "once"


def test_no_message_is_sent_before_codex_has_started_the_turn() -> None:
    dialect = codex_replay.ready()
    dialect.prompt(Prompt([{"type": "text", "text": "hello"}], "t1"))
    codex_replay.sent(dialect)
    assert not dialect.steer("m1", "mind the gap")
    assert codex_replay.sent(dialect) == []


# -- pi


def user_message(text: str = ACCEPTED.text) -> Json:
    return {"type": "message_start", "message": {"role": "user", "content": [{"type": "text", "text": text}]}}


def test_pi_has_accepted_what_is_a_message_of_the_conversation() -> None:
    pi = started()
    assert pi.steer("m1", "mind the gap")
    [command] = sent(pi)
    assert command["type"] == "steer"
    assert pi.read([reply(command, {"disposition": "queued"})]) == []
    assert read(pi, user_message("hello")) == []
    assert read(pi, user_message()) == [ACCEPTED]
    assert read(pi, {"type": "agent_end"}, {"type": "agent_settled"})[-1:] == [TurnEnded()]


@pytest.mark.parametrize(("queue", "accepted"), [(["mind the gap"], []), ([], [ACCEPTED])])
def test_what_pi_still_holds_at_the_end_is_taken_out_of_its_queue(queue: list[str], accepted: list[Event]) -> None:
    pi = started()
    pi.steer("m1", "mind the gap")
    [command] = sent(pi)
    assert read(pi, {"type": "agent_end"}, {"type": "agent_settled"}) == []
    assert sent(pi) == [], "it has not reported yet whether it took the message"
    assert not pi.steer("m2", "too late")
    pi.read([reply(command, {"disposition": "queued"})])
    [clear] = sent(pi)
    assert clear["type"] == "clear_queue"
    assert pi.read([reply(clear, {"steering": queue, "followUp": []})]) == [*accepted, TurnEnded()]
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


def test_omp_goes_on_with_a_message_that_came_too_late_and_is_stopped_again() -> None:
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
    assert read(omp, user_message()) == [ACCEPTED]
    assert read(omp, {"type": "agent_end", "isTerminal": True}) == [TurnEnded("cancelled")]


# -- Copilot


def steered_copilot() -> tuple[copilot_server.Server, Json]:
    server = copilot_server.server_in_turn()
    assert server.dialect.steer("m1", "mind the gap")
    return server, server.take_request("session.send")


def test_copilot_has_accepted_a_message_that_it_reports_under_its_id() -> None:
    server, request = steered_copilot()
    assert request["params"]["mode"] == "immediate"
    assert server.emit("session.idle") == [], "the message is not answered yet"
    assert server.reply(request, {"messageId": "w"}) == []
    assert server.emit("user.message", messageId="w", content=ACCEPTED.text) == [ACCEPTED]
    assert server.emit("session.idle") == [TurnEnded()]


def test_copilot_may_report_the_message_before_it_answers() -> None:
    server, request = steered_copilot()
    server.emit("user.message", messageId="w", content=ACCEPTED.text)
    assert server.reply(request, {"messageId": "w"}) == [ACCEPTED]


@pytest.mark.parametrize("removed", [True, False])
def test_messages_are_withdrawn_from_copilot_before_the_abort(removed: bool) -> None:
    server, request = steered_copilot()
    server.dialect.cancel()
    assert server.take_requests() == []
    server.reply(request, {"messageId": "w"})
    withdraw = server.take_request("session.queue.withdrawMessage")
    assert withdraw["params"]["expectedPrompt"] == ACCEPTED.text
    server.reply(withdraw, {"removed": removed, "interrupted": False})
    assert [request["method"] for request in server.take_requests()] == ["session.abort"]
    if not removed:
        assert server.emit("session.idle") == []
        assert server.emit("user.message", messageId="w") == [ACCEPTED]
        assert [request["method"] for request in server.take_requests()] == ["session.abort"], (
            "it has continued with the message"
        )
    assert server.emit("session.idle") == [TurnEnded("cancelled")]


def test_a_message_that_copilot_refuses_keeps_no_turn_open() -> None:
    server, request = steered_copilot()
    assert server.emit("session.idle") == []
    assert server.reply(request, error={"code": -32603, "message": "no"}) == [TurnEnded()]


# -- opencode


def steered_opencode() -> opencode_server.Server:
    server = opencode_server.working_server(model="p/m")
    assert server.dialect.steer("m1", "mind the gap")
    [call] = server.take_calls()
    assert call["body"]["model"] == {"providerID": "p", "modelID": "m"}, "the options of the turn"
    server.send_messages({"id": call["id"], "status": 204, "body": None})
    return server


def test_opencode_has_accepted_a_message_that_it_answers() -> None:
    server = steered_opencode()
    assert server.update_part("prt_9", "text", "msg_2", text=ACCEPTED.text) == []
    assert server.complete_message() == []
    assert server.report_idle() == [], "it continues with the message"
    assert server.update_message("msg_3", parentID="msg_2") == [ACCEPTED]
    assert server.complete_message("msg_3", parentID="msg_2") == []
    assert server.report_idle() == [TurnEnded()]


@pytest.mark.parametrize(("status", "accepted"), [(200, []), (400, [ACCEPTED])])
def test_a_message_that_opencode_has_not_read_is_deleted_or_counts_as_accepted(
    status: int, accepted: list[Event]
) -> None:
    server = steered_opencode()
    server.dialect.cancel()
    assert server.take_calls() == [], "the agent would answer the message after the abort"
    server.update_part("prt_9", "text", "msg_2", text=ACCEPTED.text)
    assert [call["path"].partition("?")[0] for call in server.take_calls()] == [
        f"/session/{opencode_server.SESSION}/abort"
    ]
    server.complete_message(error={"name": "MessageAbortedError", "data": {}})
    assert server.report_idle() == []
    [call] = server.take_calls()
    assert call["method"] == "DELETE" and "/message/msg_2?" in call["path"]
    assert server.send_messages({"id": call["id"], "status": status, "body": True}) == [
        *accepted,
        TurnEnded("cancelled"),
    ]


def test_a_message_that_opencode_refuses_keeps_no_turn_open() -> None:
    server = opencode_server.working_server()
    server.dialect.steer("m1", "mind the gap")
    [call] = server.take_calls()
    server.complete_message()
    assert server.report_idle() == []
    assert server.send_messages({"id": call["id"], "status": 400, "body": {"message": "no"}}) == [TurnEnded()]


# -- Hermes


def at_work() -> HermesSession:
    """In a turn, while a tool is at work."""
    session = HermesSession().working()
    session.event("tool.start", tool_id="c1", name="terminal", context="sleep 2")
    return session


def ends_call(session: HermesSession, tool_id: str = "c1") -> list[Event]:
    return session.event("tool.complete", tool_id=tool_id, name="terminal", args={}, result="slept")


def test_hermes_adds_the_message_to_the_result_of_the_tool_at_work() -> None:
    session = at_work()
    assert session.dialect.steer("m1", "mind the gap")
    assert session.calls() == [("session.steer", {"session_id": "aa11", "text": "mind the gap"})]
    assert session.answers(status="queued", text="mind the gap") == []
    assert ends_call(session)[-1] == ACCEPTED


def test_hermes_takes_no_message_while_no_tool_is_at_work() -> None:
    session = HermesSession()
    assert not session.dialect.steer("m1", "mind the gap"), "there is no turn"
    session.working()
    assert not session.dialect.steer("m1", "mind the gap"), "it forgets a message for which no call comes"
    session.event("tool.start", tool_id="c1", name="terminal", context="ls")
    ends_call(session)
    assert not session.dialect.steer("m1", "mind the gap")
    assert session.calls() == []


def test_a_message_that_hermes_confirms_after_the_call_is_accepted_with_the_next_or_not_at_all() -> None:
    session = at_work()
    assert session.dialect.steer("m1", "mind the gap")
    session.calls()
    assert ACCEPTED not in ends_call(session)
    session.answers(status="queued")
    session.event("tool.start", tool_id="c2", name="terminal", context="ls")
    assert ends_call(session, "c2")[-1] == ACCEPTED


def test_hermes_forgets_what_is_left_of_a_turn() -> None:
    session = at_work()
    session.dialect.steer("m1", "mind the gap")
    session.calls()
    ends_call(session)
    session.answers(status="queued")
    assert ACCEPTED not in session.event("message.complete", status="complete", text="hi", usage={})
    session.event("session.info", running=False)
    session.working(key="k2")
    session.event("tool.start", tool_id="c2", name="terminal", context="ls")
    assert ACCEPTED not in ends_call(session, "c2")


def test_a_message_that_hermes_refuses_is_not_accepted() -> None:
    session = at_work()
    assert session.dialect.steer("m1", "mind the gap")
    session.calls()
    session.answers(status="rejected")
    assert ACCEPTED not in ends_call(session)
