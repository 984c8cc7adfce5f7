"""A turn over rpc: what comes before the prompt, and which of many ends is the last."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.capability_paths import PERMISSION_MODE
from gateway.events import Custom, Event, Raw, TextMessageContent, TokenUsage, ToolCallResult, TurnEnded, TurnFailed
from gateway.wire.dialects import Prompt, SessionStart
from gateway.wire.dialects.pi import PiJson, PiRpc
from tests.wire.dialects.pi_replay import STATE, Json, line, opened, reply, sent

PROMPT = [{"type": "text", "text": "hello"}]
GATE = {"type": "extension_ui_request", "id": "1", "method": "setStatus", "statusKey": "agui-gateway"}
MODELS = {
    "models": [
        {"id": "otter-2", "provider": "lab", "name": "Otter", "reasoning": True, "input": ["text", "image"]},
        {"id": "a/b", "provider": "router", "cost": {"input": 1, "output": 2.5, "cacheRead": 0}, "contextWindow": 9},
    ]
}


def started(dialect: PiRpc | None = None, *, new: bool = True, **prompt: Any) -> PiRpc:
    """A turn under way, the prompt accepted."""
    pi = dialect or new_pi()
    pi.prompt(Prompt(PROMPT, prompt.pop("key", "t1"), **prompt))
    [command] = sent(pi)
    assert command["type"] == "prompt"
    assert pi.read([reply(command, {"disposition": "started"} if new else None), line({"type": "agent_start"})]) == []
    return pi


def new_pi(**state: Any) -> PiRpc:
    pi = opened(PiRpc(), **state)
    assert isinstance(pi, PiRpc)
    return pi


def answer(**message: Any) -> list[bytes]:
    expected = {"role": "assistant", "content": [], "stopReason": "stop", **message}
    return [line({"type": "message_start", "message": expected}), line({"type": "message_end", "message": expected})]


def read(pi: PiRpc, *messages: Json) -> list[Event]:
    return pi.read([line(message) for message in messages])


# -- the session


def test_a_session_is_open_when_its_state_is_known() -> None:
    pi = PiRpc()
    pi.start_session(SessionStart("/workspace", tag="s7"))
    [command] = sent(pi)
    assert command == {"id": "s7-1", "type": "get_state"}
    before = pi.is_ready
    pi.read([reply(command, {**STATE, "sessionFile": "/home/user/secret.jsonl"})])
    assert (before, pi.is_ready) == (False, True)
    assert pi.session_id == STATE["sessionId"] and not pi.has_lost_history
    assert pi.session_layer == {
        "custom.session.cwd": "/workspace",
        "custom.session.models.current": "lab/fake-model",
        "custom.session.effort": "high",
    }


def test_without_a_sign_in_there_is_no_model() -> None:
    pi = new_pi(model={"id": "unknown", "provider": "unknown"})
    assert "custom.session.models.current" not in pi.session_layer


def test_an_agent_that_does_not_report_its_state_is_never_ready() -> None:
    pi = PiRpc()
    pi.start_session(SessionStart("/workspace"))
    [command] = sent(pi)
    pi.read([reply(command, success=False, error="what?")])
    assert not pi.is_ready and pi.failure is not None and "what?" in pi.failure.detail


def test_another_session_than_the_one_that_was_to_come_back_knows_nothing() -> None:
    assert opened(PiRpc(), SessionStart("/workspace", "gone")).has_lost_history
    assert not opened(PiRpc(), SessionStart("/workspace", str(STATE["sessionId"]))).has_lost_history
    assert not opened(PiRpc(), SessionStart("/workspace", "mother", fork=True)).has_lost_history


@pytest.mark.parametrize(
    ("code", "stderr", "expected"),
    [
        (1, "\x1b[31mNo session found matching 'x'\x1b[39m", "SESSION_NOT_FOUND"),
        (0, "Session found in different project: /home/user/w\nFork this session? [y/N] Aborted.", "SESSION_NOT_FOUND"),
        (1, "  at load (/home/user/cli.js:1)\n   ^\nerror: No API key found for anthropic.\n", "AUTH_REQUIRED"),
        (1, "No models available. Use /login.\n\nOr create /home/user/.omp/agent/models.yml", "AUTH_REQUIRED"),
    ],
)
def test_the_reason_of_a_failed_start_is_read_from_stderr(code: int, stderr: str, expected: str) -> None:
    pi = PiRpc()
    pi.start_session(SessionStart("/workspace", "x"))
    assert pi.on_process_exit(code, stderr) == []
    assert pi.failure is not None and pi.failure.code == expected
    assert "\x1b" not in pi.failure.detail and "/home/user" not in pi.failure.detail
    assert not pi.failure.detail.startswith(("error", " "))


def test_an_unknown_reason_on_stderr_is_left_to_the_driver() -> None:
    pi = PiRpc()
    pi.start_session(SessionStart("/workspace"))
    assert pi.on_process_exit(1, "Segmentation fault") == [] and pi.failure is None


# -- before the prompt


def test_a_prompt_has_its_text_and_its_images() -> None:
    pi = new_pi()
    image = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
    pi.prompt(Prompt([*PROMPT, image, {"type": "text", "text": "look"}], "t1"))
    [command] = sent(pi)
    assert command["message"] == "hello\n\nlook"
    assert command["images"] == [image]
    assert command["streamingBehavior"] == "followUp", "a job in the background must not refuse it"


def test_model_and_level_are_set_one_after_the_other_before_the_prompt() -> None:
    pi = new_pi()
    pi.prompt(Prompt(PROMPT, "t1", model="lab/otter-2", thinking={"thinking": "max"}))
    [command] = sent(pi)
    pi.read([reply(command, MODELS)])
    [command] = sent(pi)
    assert (command["type"], command["provider"], command["modelId"]) == ("set_model", "lab", "otter-2")
    pi.read([reply(command, MODELS["models"][0])])
    [command] = sent(pi)
    assert (command["type"], command["level"]) == ("set_thinking_level", "max")
    pi.read([line({"type": "thinking_level_changed", "level": "high"}), reply(command)])
    [command] = sent(pi)
    assert command["type"] == "prompt"
    assert (pi.session_layer["custom.session.models.current"], pi.session_layer["custom.session.effort"]) == (
        "lab/otter-2",
        "high",
    )


def test_a_model_that_is_set_already_is_not_set_again() -> None:
    pi = new_pi()
    pi.prompt(Prompt(PROMPT, "t1", model="lab/fake-model"))
    assert [command["type"] for command in sent(pi)] == ["prompt"]


def test_a_model_may_be_named_by_its_id_alone() -> None:
    pi = new_pi()
    pi.prompt(Prompt(PROMPT, "t1", model="a/b"))
    [command] = sent(pi)
    pi.read([reply(command, MODELS)])
    [command] = sent(pi)
    assert (command["provider"], command["modelId"]) == ("router", "a/b")


@pytest.mark.parametrize(("listed", "code"), [(MODELS, "MODEL_NOT_FOUND"), ({"models": []}, "AUTH_REQUIRED")])
def test_a_model_that_is_not_offered_fails_the_turn(listed: Json, code: str) -> None:
    pi = new_pi()
    pi.prompt(Prompt(PROMPT, "t1", model="lab/seal"))
    [command] = sent(pi)
    [event] = pi.read([reply(command, listed)])
    assert isinstance(event, TurnFailed) and event.code == code
    assert not pi.is_busy and sent(pi) == []


def test_a_level_that_is_not_taken_fails_the_turn() -> None:
    pi = new_pi()
    pi.prompt(Prompt(PROMPT, "t1", thinking={"thinking": "low"}))
    [command] = sent(pi)
    assert pi.read([reply(command, success=False, error="no")]) == [TurnFailed("no", "AGENT_ERROR")]
    assert not pi.is_busy and sent(pi) == []


def test_a_refused_prompt_fails_the_turn_with_the_agents_message() -> None:
    pi = new_pi()
    pi.prompt(Prompt(PROMPT, "t1"))
    [command] = sent(pi)
    message = (
        "No API key found for the selected model.\n\nUse /login. See:\n  /opt/pi/docs/providers.md\n  /opt/pi/x.md"
    )
    [event] = pi.read([reply(command, success=False, error=message)])
    assert event == TurnFailed("No API key found for the selected model.\n\nUse /login.", "AUTH_REQUIRED")
    assert not pi.is_busy


def test_without_its_gate_an_agent_gets_no_prompt() -> None:
    pi = opened(PiRpc(), SessionStart("/workspace", params={"gate": True}))
    pi.prompt(Prompt(PROMPT, "t1"))
    [command] = sent(pi)
    assert command["type"] == "get_state", "any question will do: its answer is the moment to say so"
    [event] = pi.read([reply(command, STATE)])
    assert isinstance(event, TurnFailed) and "gate" in event.message and not pi.is_busy


@pytest.mark.parametrize("approvals", ["prompt", "deny", "auto"])
def test_with_its_gate_or_with_no_need_for_it_it_is(approvals: Any) -> None:
    pi = PiRpc()
    pi.start_session(SessionStart("/workspace", params={"gate": True}))
    if approvals != "auto":
        assert pi.read([line(GATE)]) == []
    [command] = sent(pi)
    pi.read([reply(command, STATE)])
    pi.prompt(Prompt(PROMPT, "t1", approvals=approvals))
    assert [command["type"] for command in sent(pi)] == ["prompt"]
    expected = "none" if approvals == "auto" else "gate"
    assert pi.session_layer[PERMISSION_MODE] == expected, "without the gate pi asks nothing"


# -- the end


def test_what_settles_is_over() -> None:
    pi = started()
    assert read(pi, {"type": "agent_end", "messages": [], "willRetry": False}) == []
    assert sent(pi) == [], "there is no need to ask"
    assert read(pi, {"type": "agent_settled", "aborted": False}) == [TurnEnded("end_turn")]
    assert not pi.is_busy


def test_older_versions_are_asked_whether_they_are_idle() -> None:
    pi = started(new=False)
    [command] = sent(pi)
    pi.read([reply(command, {**STATE, "isStreaming": True})])
    assert sent(pi) == [], "it runs: its end will be reported"
    read(pi, {"type": "agent_end", "messages": []})
    [command] = sent(pi)
    assert command["type"] == "get_state" and pi.is_busy
    assert pi.read([reply(command, {**STATE, "isStreaming": True})]) == []
    [command] = sent(pi)
    assert pi.read([reply(command, STATE)]) == [TurnEnded("end_turn")]


def test_an_end_that_is_followed_by_a_retry_is_none() -> None:
    pi = started(new=False)
    sent(pi)
    read(pi, {"type": "agent_end", "messages": []})
    [command] = sent(pi)
    [retry] = read(
        pi, {"type": "auto_retry_start", "attempt": 1, "maxAttempts": 3, "delayMs": 2000, "errorMessage": "503 no"}
    )
    assert retry == Custom("pi.retry", {"attempt": 1, "maxAttempts": 3, "delayMs": 2000, "message": "503 no"})
    assert pi.read([reply(command, STATE)]) == [] and pi.is_busy
    read(pi, {"type": "agent_start"})
    pi.read(answer(stopReason="error", errorMessage="503 no"))
    read(pi, {"type": "agent_end", "messages": []}, {"type": "auto_retry_end", "success": False})
    *_, command = sent(pi)
    assert pi.read([reply(command, STATE)]) == [TurnFailed("503 no", "MODEL_ERROR")]


def test_an_end_that_is_followed_by_a_compaction_is_over_after_it() -> None:
    pi = started(new=False)
    sent(pi)
    read(pi, {"type": "agent_end", "messages": []}, {"type": "compaction_start", "reason": "threshold"})
    [command] = sent(pi)
    assert pi.read([reply(command, STATE)]) == []
    result = {"summary": "It was about otters.", "usage": {"input": 5, "output": 2}}
    expected, used = read(pi, {"type": "compaction_end", "reason": "threshold", "result": result, "willRetry": False})
    assert isinstance(expected, Custom) and expected.value["summary"] == "It was about otters."
    assert getattr(used, "total_tokens", None) == 7
    [command] = sent(pi)
    assert pi.read([reply(command, STATE)]) == [TurnEnded("end_turn")]


def test_a_compaction_that_tries_again_is_no_end() -> None:
    pi = started(new=False)
    sent(pi)
    read(pi, {"type": "agent_end", "messages": []}, {"type": "compaction_start", "reason": "overflow"})
    sent(pi)
    read(pi, {"type": "compaction_end", "reason": "overflow", "result": {}, "willRetry": True})
    assert sent(pi) == [] and pi.is_busy


def test_a_prompt_that_a_command_has_dealt_with_is_over() -> None:
    pi = new_pi()
    pi.prompt(Prompt([{"type": "text", "text": "/stats"}], "t1"))
    [command] = sent(pi)
    assert pi.read([reply(command, {"disposition": "handled"})]) == [TurnEnded("end_turn")]


def test_older_versions_are_found_idle() -> None:
    pi = new_pi()
    pi.prompt(Prompt([{"type": "text", "text": "/stats"}], "t1"))
    [command] = sent(pi)
    assert pi.read([reply(command)]) == []
    [command] = sent(pi)
    assert pi.read([reply(command, STATE)]) == [TurnEnded("end_turn")]


def test_an_answer_of_the_turn_before_does_not_end_this_one() -> None:
    pi = started(new=False)
    [late] = sent(pi)
    read(pi, {"type": "agent_end", "messages": []})
    [command] = sent(pi)
    pi.read([reply(command, STATE)])
    pi.prompt(Prompt(PROMPT, "t2"))
    [command] = sent(pi)
    assert pi.read([reply(late, STATE)]) == [] and pi.is_busy
    pi.read([reply(command, {"disposition": "started"})])
    assert pi.is_busy


def test_what_settles_before_the_prompt_was_taken_is_something_else() -> None:
    pi = new_pi()
    pi.prompt(Prompt(PROMPT, "t1"))
    assert read(pi, {"type": "agent_settled", "aborted": False}) == [] and pi.is_busy


def test_a_job_between_turns_is_reported_and_ends_no_turn() -> None:
    pi = started()
    read(pi, {"type": "agent_settled", "aborted": False})
    late: list[Json] = [{"type": "agent_start"}, {"type": "agent_end", "messages": []}, {"type": "agent_settled"}]
    delta = {"type": "text_delta", "contentIndex": 0, "delta": "By the way"}
    events = read(pi, *late[:1], {"type": "message_update", "assistantMessageEvent": delta}, *late[1:])
    assert events == [TextMessageContent("By the way", "t1:m0.0")]
    assert sent(pi) == []


@pytest.mark.parametrize(
    ("message", "end"),
    [
        ({"stopReason": "length"}, TurnEnded("max_tokens")),
        ({"stopReason": "aborted", "errorMessage": "Interrupted"}, TurnEnded("cancelled")),
        ({"stopReason": "error", "errorMessage": "400 no such thing"}, TurnFailed("400 no such thing", "MODEL_ERROR")),
        (
            {"stopReason": "error", "errorMessage": '429: {"message":"slow down","x":1}'},
            TurnFailed("429: slow down", "MODEL_ERROR"),
        ),
        ({"stopReason": "error", "errorMessage": "500: {cut"}, TurnFailed("500: {cut", "MODEL_ERROR")),
        ({"stopReason": "error", "errorMessage": "500: {cut}"}, TurnFailed("500: {cut}", "MODEL_ERROR")),
        ({"stopReason": "error", "errorMessage": "401 who are you?"}, TurnFailed("401 who are you?", "AUTH_REQUIRED")),
        ({"stopReason": "error", "errorMessage": "no", "errorStatus": 401}, TurnFailed("no", "AUTH_REQUIRED")),
        ({"stopReason": "error"}, TurnFailed("the model failed, and the agent does not say how", "MODEL_ERROR")),
    ],
)
def test_the_last_answer_has_the_stop_reason(message: Json, end: Event) -> None:
    pi = started()
    pi.read(answer(**message))
    assert read(pi, {"type": "agent_settled", "aborted": False}) == [end]


def test_a_call_without_a_result_is_closed() -> None:
    pi = started()
    pi.read(answer(content=[{"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "ls"}}]))
    *events, end = read(pi, {"type": "agent_settled", "aborted": False})
    assert [event.content for event in events if isinstance(event, ToolCallResult)] == [
        "The agent ended its turn without a result for this call."
    ]
    assert end == TurnEnded("end_turn")


def test_money_is_added_up_over_the_turn() -> None:
    pi = started()
    cost = {"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0, "cost": {"total": 0.25}}
    pi.read([*answer(usage=cost), *answer(usage=cost)])
    events = read(pi, {"type": "agent_settled", "aborted": False})
    assert events == [Custom("cost", {"usd": 0.5}), TurnEnded("end_turn")]


def test_the_cache_is_part_of_the_input_and_thinking_of_the_output() -> None:
    pi = started()
    usage = {"input": 10, "output": 7, "cacheRead": 100, "cacheWrite": 1000, "reasoning": 3, "totalTokens": 1117}
    [used] = pi.read(answer(usage=usage, provider="lab", model="otter-2"))
    assert used == TokenUsage(
        "lab", "otter-2", 1110, 7, 1117, 3, cached_input_tokens=100, cache_write_input_tokens=1000
    )


# -- stopping


def test_a_turn_is_stopped_by_abort_and_ends_as_cancelled() -> None:
    pi = started()
    assert pi.cancel()
    assert [command["type"] for command in sent(pi)] == ["abort"]
    pi.read(answer(stopReason="error", errorMessage="This operation was aborted"))
    read(pi, {"type": "agent_end", "messages": [], "willRetry": False})
    assert read(pi, {"type": "agent_settled", "aborted": True}) == [TurnEnded("cancelled")]


def test_an_abort_that_is_answered_when_all_is_at_rest_ends_the_turn() -> None:
    pi = started(new=False)
    sent(pi)
    pi.cancel()
    [abort] = sent(pi)
    read(pi, {"type": "agent_end", "messages": []})
    assert pi.read([reply(abort)]) == [TurnEnded("cancelled")]


def test_a_turn_that_is_stopped_while_it_is_prepared_never_prompts() -> None:
    pi = new_pi()
    pi.prompt(Prompt(PROMPT, "t1", thinking={"thinking": "low"}))
    [command] = sent(pi)
    assert pi.cancel() and sent(pi) == []
    assert pi.read([reply(command)]) == [TurnEnded("cancelled")]
    assert sent(pi) == []


def test_a_prompt_that_is_stopped_before_it_was_taken_is_stopped_then() -> None:
    pi = new_pi()
    pi.prompt(Prompt(PROMPT, "t1"))
    [command] = sent(pi)
    pi.cancel()
    assert sent(pi) == [], "it would be too early: there is nothing to stop"
    pi.read([reply(command, {"disposition": "started"})])
    assert [command["type"] for command in sent(pi)] == ["abort"]


def test_a_process_that_dies_of_a_requested_signal_was_cancelled() -> None:
    pi = PiJson()
    pi.start_session(SessionStart("/workspace"))
    pi.prompt(Prompt(PROMPT, "t1"))
    assert pi.cancel() is False, "the mode has no command for it: the driver sends a signal"
    assert pi.on_process_exit(143, "") == [TurnEnded("cancelled")]


def test_a_process_that_just_dies_is_left_to_the_driver() -> None:
    pi = started()
    assert pi.on_process_exit(-9, "") == [] and pi.is_busy


def test_a_lost_session_fails_the_turn() -> None:
    pi = PiJson()
    pi.start_session(SessionStart("/workspace", "x"))
    pi.prompt(Prompt(PROMPT, "t1"))
    [event] = pi.on_process_exit(1, "No session found matching 'x'")
    assert isinstance(event, TurnFailed) and event.code == "SESSION_NOT_FOUND" and not pi.is_busy


# -- beside it


def test_models_are_listed_by_the_names_that_a_run_takes() -> None:
    pi = new_pi()
    action_id = pi.start_action("models")
    [command] = sent(pi)
    pi.read([reply(command, MODELS)])
    assert pi.action_results[action_id].value == [
        {"id": "lab/otter-2", "name": "Otter", "provider": "lab", "thinking": True, "image_input": True},
        {"id": "router/a/b", "provider": "router", "context": 9, "price": {"input": 1, "output": 2.5}},
    ]


def test_a_model_is_set_between_turns() -> None:
    pi = new_pi()
    action_id = pi.start_action("set_model", {"model": "router/a/b"})
    [command] = sent(pi)
    pi.read([reply(command, MODELS)])
    [command] = sent(pi)
    pi.read([reply(command, MODELS["models"][1])])
    assert pi.action_results[action_id].value == "router/a/b"


def test_a_model_that_is_not_there_cannot_be_set() -> None:
    pi = new_pi()
    action_ids = [
        pi.start_action("set_model", {"model": "seal"}),
        pi.start_action("models"),
        pi.start_action("set_model", {"model": "lab/otter-2"}),
    ]
    for number, command in enumerate(sent(pi)):
        good = number == 0
        pi.read([reply(command, MODELS) if good else reply(command, success=False, error="busy")])
    expected = [pi.action_results[action_id].error for action_id in action_ids]
    assert [error.code for error in expected if error is not None] == ["MODEL_NOT_FOUND", "AGENT_ERROR", "AGENT_ERROR"]


@pytest.mark.parametrize(
    ("expected", "event"),
    [
        ({"type": "notice", "level": "warning", "message": "hm", "source": "x"}, ("pi.notice", "hm")),
        ({"type": "extension_error", "extensionPath": "/home/user/x.ts", "error": "oh"}, ("pi.notice", "oh")),
        ({"type": "session_info_changed", "name": "Otters"}, ("session.info", "Otters")),
        ({"type": "retry_fallback_applied", "from": "a", "to": "b", "role": "x"}, ("pi.retry_fallback_applied", "b")),
        ({"type": "response", "command": "parse", "success": False, "error": "what?"}, ("pi.notice", "what?")),
        ({"type": "extension_ui_request", "id": "1", "method": "notify", "message": "psst"}, ("pi.notice", "psst")),
    ],
)
def test_notices_are_sent_without_paths(expected: Json, event: tuple[str, str]) -> None:
    [found] = read(started(), expected)
    assert isinstance(found, Custom) and found.name == event[0]
    assert event[1] in found.value.values() and "/home/user" not in str(found.value)


def test_an_extensions_own_message_is_shown_if_it_wants_to_be() -> None:
    message = {"role": "custom", "customType": "weather", "content": "It rains.", "display": True}
    pi = started()
    for content in ("It rains.", [{"type": "text", "text": "It rains."}]):
        [found] = read(pi, {"type": "message_end", "message": {**message, "content": content}})
        assert found == Custom("pi.message", {"type": "weather", "text": "It rains."})
    assert read(pi, {"type": "message_end", "message": {**message, "display": False}}) == []


@pytest.mark.parametrize(
    "raw",
    [
        b'{"type":"dance"}',
        b"[]",
        b"Warning: none",
        b'{"type":["x"]}',
        b'{"type":"message_update"}',
        b"{}",
        b'{"type":"message_update","assistantMessageEvent":{"type":["text_delta"]}}',
        b'{"type":"message_update","assistantMessageEvent":{"type":"text_delta","contentIndex":"0","delta":"a"}}',
        b'{"type":"message_update","assistantMessageEvent":{"type":"image_end","contentIndex":0,"content":7}}',
        b'{"type":"message_end","message":{"role":"bashExecution"}}',
        b'{"type":"tool_execution_start"}',
    ],
)
def test_what_is_not_understood_is_handed_on(raw: bytes) -> None:
    [event] = started().read([raw])
    assert isinstance(event, Raw) and event.source == "pi"
