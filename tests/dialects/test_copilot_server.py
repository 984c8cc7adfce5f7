"""The rules of Copilot's SDK server: opening, wishes, turns, questions, actions. Playbooks, without a process."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from gateway.events import (
    ActivityPatched,
    ActivitySet,
    Asked,
    Broke,
    Custom,
    Ended,
    Event,
    Question,
    ReasoningDelta,
    SubagentBroke,
    SubagentEnd,
    SubagentStart,
    TextDelta,
    ToolArgs,
    ToolEnd,
    ToolResult,
    ToolStart,
    Unread,
    Used,
    Warned,
)
from gateway.turn import Answer, Approvals
from gateway.wire.dialects import Begin, Prompt
from gateway.wire.dialects.copilot import CopilotDialect

Json = dict[str, Any]
SESSION = "5e551017-0000-4000-8000-000000000000"


class Server:
    """The other side: takes the dialect's requests, and says what a test lets it say."""

    def __init__(self, begin: Begin | None = None) -> None:
        self.dialect = CopilotDialect()
        self.dialect.begin(begin or Begin("/workspace", tag="s"))

    def asked(self) -> list[Json]:
        """The requests since the last time."""
        messages, self.dialect.outbox = self.dialect.outbox, []
        return [orjson.loads(message) for message in messages]

    def request(self, method: str) -> Json:
        return next(request for request in self.asked() if request.get("method") == method)

    def reply(self, request: Json, result: Any = None, error: Json | None = None) -> list[Event]:
        body = {"error": error} if error is not None else {"result": {} if result is None else result}
        return self.say({"jsonrpc": "2.0", "id": request["id"], **body})

    def say(self, *messages: Any) -> list[Event]:
        return self.dialect.read([orjson.dumps(message) for message in messages])

    def tell(self, kind: str, agent: str | None = None, session: str = SESSION, **data: Any) -> list[Event]:
        event: Json = {"type": kind, "data": data, **({"agentId": agent} if agent else {})}
        return self.say({"jsonrpc": "2.0", "method": "session.event", "params": {"sessionId": session, "event": event}})

    def open(self, **told: Any) -> Server:
        self.reply(self.request("session.create"), {"sessionId": SESSION, "mode": "interactive", **told})
        return self

    def turn(self, words: str = "hello", approvals: Approvals = "prompt", **fields: Any) -> Json:
        """A prompt that the server has taken; the request that brought it."""
        prompt = Prompt([{"type": "text", "text": words}], "t1", approvals=approvals, **fields)
        self.dialect.prompt(prompt)
        request = self.request("session.send")
        self.reply(request, {"messageId": "m"})
        self.tell("user.message", content=words)
        return request


def ready() -> Server:
    return Server().open()


def in_turn(approvals: Approvals = "prompt") -> Server:
    server = ready()
    server.turn(approvals=approvals)
    return server


# -- opening


def test_a_session_is_created_that_streams_and_asks() -> None:
    begin = Begin(
        "/workspace",
        directories=("/other",),
        mcp_servers=(
            {"name": "one", "command": "srv", "args": ["-x"], "env": [{"name": "A", "value": "b"}]},
            {"name": "two", "type": "http", "url": "https://mcp.example", "headers": [{"name": "H", "value": "v"}]},
        ),
        params={"session": {"enableConfigDiscovery": True}},
        tag="s",
    )
    params = Server(begin).request("session.create")["params"]
    assert params["streaming"] and params["requestPermission"] and params["requestUserInput"]
    assert params["requestElicitation"] and params["requestExitPlanMode"] and params["enableConfigDiscovery"]
    assert params["workingDirectory"] == "/workspace"
    assert params["additionalDirectories"] == ["/other"]
    assert params["mcpServers"] == {
        "one": {"type": "stdio", "command": "srv", "args": ["-x"], "env": {"A": "b"}},
        "two": {"type": "http", "url": "https://mcp.example", "headers": {"H": "v"}},
    }
    assert "provider" not in params and "model" not in params


def test_a_provider_of_ones_own_is_read_off_the_agents_environment() -> None:
    env = {
        "COPILOT_PROVIDER_BASE_URL": "http://127.0.0.1:1/v1",
        "COPILOT_PROVIDER_TYPE": "azure",
        "COPILOT_PROVIDER_API_KEY": "key",
        "COPILOT_PROVIDER_WIRE_API": "responses",
        "COPILOT_PROVIDER_MAX_PROMPT_TOKENS": "1000",
        "COPILOT_PROVIDER_MAX_OUTPUT_TOKENS": "many",
        "COPILOT_PROVIDER_AZURE_API_VERSION": "2024-10-21",
        "COPILOT_PROVIDER_HEADERS": "A: b\\nC: d:e\nnonsense",
        "COPILOT_MODEL": "gpt-5.4",
    }
    params = Server(Begin("/workspace", params={"env": env}, tag="s")).request("session.create")["params"]
    assert params["model"] == "gpt-5.4"
    assert params["provider"] == {
        "type": "azure",
        "baseUrl": "http://127.0.0.1:1/v1",
        "apiKey": "key",
        "wireApi": "responses",
        "maxPromptTokens": 1000,
        "azure": {"apiVersion": "2024-10-21"},
        "headers": {"A": "b", "C": "d:e"},
    }


def test_the_session_is_ready_when_it_has_an_id_and_says_what_it_is_set_to() -> None:
    server = Server()
    assert not server.dialect.ready
    server.open(modelState={"modelId": "gpt-5.4", "reasoningEffort": "high"}, mode="plan")
    dialect = server.dialect
    assert dialect.ready and dialect.session_id == SESSION
    assert dialect.facts["custom.acp.models.current"] == "gpt-5.4"
    assert dialect.facts["custom.acp.modes.current"] == "plan"
    assert [mode["id"] for mode in dialect.facts["custom.acp.modes.available"]] == ["interactive", "plan", "autopilot"]


def test_the_version_is_announced_once_for_the_process() -> None:
    server = Server()
    connect, create = server.asked()
    assert connect["method"] == "connect"
    server.reply(connect, {"version": "1.0.102"})
    server.reply(create, {"sessionId": SESSION})
    assert server.dialect.announced == {"identity.version": "1.0.102"}
    again = Server(Begin("/workspace", params={"connected": True}, tag="s"))
    assert [request["method"] for request in again.asked()] == ["session.create"]


def test_a_session_comes_back_by_its_id() -> None:
    server = Server(Begin("/workspace", SESSION, tag="s"))
    request = server.request("session.resume")
    assert request["params"]["sessionId"] == SESSION
    server.reply(request, {"sessionId": SESSION})
    assert server.dialect.ready and not server.dialect.anew


def test_a_fork_is_made_first_and_then_come_back_to() -> None:
    server = Server(Begin("/workspace", SESSION, fork=True, tag="s"))
    server.reply(server.request("sessions.fork"), {"sessionId": "copy"})
    request = server.request("session.resume")
    assert request["params"]["sessionId"] == "copy"
    server.reply(request, {"sessionId": "copy"})
    assert server.dialect.session_id == "copy"


LOST = {"code": -32603, "message": f"Request session.resume failed with message: Session not found: {SESSION}"}
COPYLESS = {"code": -32603, "message": "Cannot fork session x: no persisted or in-memory events found"}
LOGIN = {"code": -32603, "message": "Request session.create failed with message: Not authenticated."}


@pytest.mark.parametrize(
    ("begin", "method", "error", "code"),
    [
        (Begin("/w", SESSION, tag="s"), "session.resume", LOST, "SESSION_NOT_FOUND"),
        (Begin("/w", SESSION, fork=True, tag="s"), "sessions.fork", COPYLESS, "SESSION_NOT_FOUND"),
        (Begin("/w", tag="s"), "session.create", LOGIN, "AUTH_REQUIRED"),
        (Begin("/w", tag="s"), "session.create", {"code": 1, "message": "no"}, "AGENT_ERROR"),
        (Begin("/w", tag="s"), "session.create", "nonsense", "AGENT_ERROR"),
    ],
)
def test_a_session_that_cannot_be_had_fails_with_its_reason(begin: Begin, method: str, error: Any, code: str) -> None:
    server = Server(begin)
    server.reply(server.request(method), error=error)
    assert not server.dialect.ready
    assert server.dialect.failure is not None and server.dialect.failure.code == code


def test_an_answer_without_an_id_is_nonsense() -> None:
    server = Server()
    server.reply(server.request("session.create"), {"sessionId": 7})
    assert server.dialect.failure is not None and server.dialect.failure.code == "AGENT_NONSENSE"


# -- whose message it is


@pytest.mark.parametrize(
    ("message", "owner"),
    [
        ({"id": "ab12cd34.7", "result": {}}, "ab12cd34"),
        ({"method": "session.event", "params": {"sessionId": SESSION, "event": {}}}, SESSION),
        ({"id": 1, "method": "userInput.request", "params": {"sessionId": SESSION}}, SESSION),
        ({"method": "host.event", "params": {"scope": {"type": "session", "sessionId": SESSION}}}, SESSION),
        ({"method": "host.event", "params": {}}, None),
        ({"id": 7, "result": {}}, None),
        ([], None),
    ],
)
def test_a_message_belongs_to_the_session_that_it_names(message: Any, owner: str | None) -> None:
    assert CopilotDialect.owner(orjson.dumps(message)) == owner


def test_what_another_session_does_is_not_heard() -> None:
    server = in_turn()
    assert server.tell("assistant.message_delta", session="other", messageId="a", deltaContent="x") == []
    assert server.tell("session.idle", session="other") == []
    assert server.dialect.busy


# -- a turn


def test_a_prompt_goes_with_its_images_and_documents() -> None:
    server = ready()
    blocks: list[Json] = [
        {"type": "text", "text": "look"},
        {"type": "image", "data": "aW1n", "mimeType": "image/png"},
        {"type": "resource", "resource": {"uri": "file:///w/a.pdf", "blob": "cGRm", "mimeType": "application/pdf"}},
    ]
    server.dialect.prompt(Prompt(blocks, "t1"))
    assert server.request("session.send")["params"] == {
        "sessionId": SESSION,
        "prompt": "look",
        "attachments": [
            {"type": "blob", "data": "aW1n", "mimeType": "image/png", "displayName": "image"},
            {"type": "blob", "data": "cGRm", "mimeType": "application/pdf", "displayName": "a.pdf"},
        ],
    }


def test_a_file_that_copilot_would_overlook_is_warned_about() -> None:
    server = ready()
    server.dialect.prompt(Prompt([{"type": "audio", "data": "x", "mimeType": "audio/wav"}], "t1"))
    [warned] = server.reply(server.request("session.send"), {"messageId": "m"})
    assert isinstance(warned, Warned) and warned.code == "NOT_ATTACHED"
    assert warned.detail == {"mimeType": "audio/wav"}


def test_settings_that_differ_are_made_one_after_the_other_before_the_prompt() -> None:
    """The server works on requests side by side: a prompt sent at once could be answered by the old model."""
    server = Server().open(modelState={"modelId": "gpt-5.4"})
    wishes: Json = {"model": "gpt-5.5", "thinking": {"reasoningEffort": "high"}, "mode": "plan"}
    server.dialect.prompt(Prompt([{"type": "text", "text": "x"}], "t1", **wishes))
    [switch] = server.asked()
    assert switch["method"] == "session.model.switchTo"
    assert switch["params"] == {"sessionId": SESSION, "modelId": "gpt-5.5", "reasoningEffort": "high"}
    server.reply(switch, {"modelState": {"modelId": "gpt-5.5", "reasoningEffort": "high"}})
    [mode] = server.asked()
    assert (mode["method"], mode["params"]["mode"]) == ("session.mode.set", "plan")
    server.reply(mode, {"modeApplied": True})
    assert [request["method"] for request in server.asked()] == ["session.send"]
    assert server.dialect.facts["custom.acp.models.current"] == "gpt-5.5"


def test_settings_that_are_as_wished_are_left_alone() -> None:
    server = Server().open(modelState={"modelId": "gpt-5.4", "reasoningEffort": "low"})
    wishes: Json = {"model": "gpt-5.4", "thinking": {"reasoningEffort": "low"}, "mode": "interactive"}
    server.dialect.prompt(Prompt([], "t1", **wishes))
    assert [request["method"] for request in server.asked()] == ["session.send"]


def test_effort_alone_leaves_the_model_as_it_is() -> None:
    server = ready()
    server.dialect.prompt(Prompt([], "t1", thinking={"reasoningEffort": "low"}))
    assert server.request("session.model.setReasoningEffort")["params"]["reasoningEffort"] == "low"


def test_a_setting_that_is_refused_fails_the_turn() -> None:
    server = ready()
    server.dialect.prompt(Prompt([], "t1", mode="dance"))
    [broke] = server.reply(server.request("session.mode.set"), error={"message": "unknown variant `dance`"})
    assert isinstance(broke, Broke) and "unknown variant" in broke.message
    assert not server.dialect.busy and server.asked() == []


def test_a_prompt_that_is_not_taken_fails_the_turn_with_the_servers_words() -> None:
    server = ready()
    server.dialect.prompt(Prompt([], "t1"))
    [broke] = server.reply(server.request("session.send"), error={"message": "Session not found for sessionId: x"})
    assert isinstance(broke, Broke) and broke.code == "SESSION_NOT_FOUND"


def test_a_turn_ends_when_the_session_is_idle() -> None:
    server = in_turn()
    assert server.tell("assistant.idle") == []
    assert server.dialect.busy
    assert server.tell("session.idle", mode="interactive") == [Ended()]
    assert not server.dialect.busy


def test_an_idle_that_a_turn_before_left_behind_ends_nothing() -> None:
    server = ready()
    server.dialect.prompt(Prompt([], "t1"))
    request = server.request("session.send")
    assert server.tell("session.idle") == []
    server.reply(request, {"messageId": "m"})
    assert server.tell("session.idle") == [], "our message has not come yet"
    server.tell("user.message", content="hello")
    assert server.tell("session.idle") == [Ended()]


def test_a_prompt_that_policy_blocks_ends_its_turn() -> None:
    server = ready()
    server.dialect.prompt(Prompt([], "t1"))
    server.reply(server.request("session.send"), {"messageId": "m"})
    [told] = server.tell("session.warning", warningType="policy", message="blocked", originatingMessageId="m")
    assert told == Custom("copilot.warning", {"warningType": "policy", "message": "blocked"})
    assert server.tell("session.idle") == [Ended()]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        ({"errorType": "query", "message": "400 no", "statusCode": 400}, "MODEL_ERROR"),
        ({"errorType": "rate_limit", "message": "429", "statusCode": 429}, "MODEL_ERROR"),
        ({"errorType": "authentication", "message": "HTTP 401", "statusCode": 401}, "AUTH_REQUIRED"),
        ({"errorType": "query", "message": "No GitHub OAuth token or Copilot HMAC key provided"}, "AUTH_REQUIRED"),
        ({"message": "it fell over"}, "AGENT_ERROR"),
        ({}, "AGENT_ERROR"),
    ],
)
def test_an_error_fails_the_turn_with_its_own_words(error: Json, code: str) -> None:
    server = in_turn()
    assert server.tell("session.error", **error) == []
    [broke] = server.tell("session.idle")
    assert broke == Broke(error.get("message", "the agent gave no reason"), code)


def test_an_error_after_which_the_agent_goes_on_is_a_warning() -> None:
    server = in_turn()
    server.tell("session.error", errorType="query", message="a hiccup")
    warned, _ = server.tell("assistant.turn_start", turnId="1")
    assert warned == Warned("MODEL_ERROR", "a hiccup")
    assert server.tell("session.idle") == [Ended()]


def test_an_error_of_a_subagents_is_not_the_turns() -> None:
    server = in_turn()
    [told] = server.tell("session.error", agent="a", errorType="query", message="no")
    assert isinstance(told, Custom) and told.name == "copilot.error"
    assert server.tell("session.idle") == [Ended()]


# -- stopping


def test_a_turn_is_aborted_in_the_servers_own_way() -> None:
    server = in_turn()
    assert server.dialect.cancel() is True
    abort = server.request("session.abort")
    assert server.reply(abort, {"success": True}) == []
    assert server.tell("assistant.idle", aborted=True) == [Ended("cancelled")]
    assert server.tell("session.idle", aborted=True) == []


def test_an_abort_waits_until_the_prompt_was_taken() -> None:
    """One that comes before is lost: the server has nothing to abort yet."""
    server = ready()
    server.dialect.prompt(Prompt([], "t1"))
    request = server.request("session.send")
    assert server.dialect.cancel() is True
    assert server.asked() == []
    server.reply(request, {"messageId": "m"})
    assert [asked["method"] for asked in server.asked()] == ["session.abort"]


def test_a_turn_that_is_stopped_while_it_sets_its_model_never_prompts() -> None:
    server = ready()
    server.dialect.prompt(Prompt([], "t1", model="gpt-5.5"))
    switch = server.request("session.model.switchTo")
    server.dialect.cancel()
    assert server.reply(switch, {}) == [Ended("cancelled")]
    assert server.asked() == []


def test_what_runs_in_the_background_does_not_keep_a_stopped_turn_open() -> None:
    """An abort does not end it, and `session.idle` would wait for it."""
    server = in_turn()
    server.tell("assistant.idle")
    server.dialect.cancel()
    assert server.reply(server.request("session.abort"), {"success": True}) == [Ended("cancelled")]


def test_a_failure_of_a_stopped_turn_is_its_end() -> None:
    server = in_turn()
    server.dialect.cancel()
    server.tell("session.error", errorType="query", message="aborted")
    assert server.tell("session.idle") == [Ended("cancelled")]


def test_a_process_that_dies_leaves_its_end_to_the_driver() -> None:
    server = in_turn()
    assert server.dialect.closed(1, "oops") == []
    assert server.dialect.busy and not server.dialect.ready
    stopped = in_turn()
    stopped.dialect.cancel()
    assert stopped.dialect.closed(1, "") == [Ended("cancelled")]


# -- words


def test_text_that_did_not_come_in_deltas_is_told_whole() -> None:
    server = in_turn()
    delta, end = server.tell("assistant.message", messageId="a", content="hello", toolRequests=[])
    assert isinstance(delta, TextDelta) and (delta.text, delta.message_id) == ("hello", "t1:a")
    assert server.tell("assistant.message", messageId="b", content="", toolRequests=[]) == []
    [thought] = server.tell("assistant.reasoning", reasoningId="r", content="hm")
    assert isinstance(thought, ReasoningDelta) and thought.text == "hm"
    assert server.tell("assistant.reasoning", reasoningId="r", content="hm") == []
    assert end is not None


def test_text_that_goes_on_after_a_thought_is_a_message_of_its_own() -> None:
    server = in_turn()
    server.tell("assistant.message_delta", messageId="a", deltaContent="one ")
    server.tell("assistant.reasoning_delta", reasoningId="r", deltaContent="hm")
    [again] = server.tell("assistant.message_delta", messageId="a", deltaContent="two")
    assert isinstance(again, TextDelta) and again.message_id == "t1:a.2"
    assert server.tell("assistant.message", messageId="a", content="one two")[-1] is not None
    assert not any(
        isinstance(event, TextDelta) for event in server.tell("assistant.message", messageId="a", content="x")
    )


def test_what_was_used_counts_the_cache_inside_the_input() -> None:
    server = in_turn()
    told: Json = {"inputTokens": 1507, "outputTokens": 12, "cacheReadTokens": 1000, "cacheWriteTokens": 500}
    [used] = server.tell("assistant.usage", model="claude-sonnet-5", modelProvider="anthropic", cost=0, **told)
    assert used == Used(
        provider="anthropic",
        model="claude-sonnet-5",
        input_tokens=1507,
        output_tokens=12,
        total_tokens=1519,
        cached_input_tokens=1000,
        cache_write_input_tokens=500,
    )


def test_a_premium_request_is_a_cost() -> None:
    server = in_turn()
    found = server.tell("assistant.usage", model="m", modelProvider="other", inputTokens=1, outputTokens=1, cost=0.33)
    assert found[-1] == Custom("cost", {"premiumRequests": 0.33})
    assert isinstance(found[0], Used) and found[0].provider is None


# -- tools


def test_free_text_arguments_are_wrapped_as_json_piece_by_piece() -> None:
    server = in_turn()
    told: Json = {"toolCallId": "c", "toolName": "apply_patch", "toolType": "custom"}
    found = server.tell("assistant.tool_call_delta", inputDelta='*** "a"\n', **told)
    found += server.tell("assistant.tool_call_delta", inputDelta="é", **told)
    found += server.tell("tool.execution_start", toolCallId="c", toolName="apply_patch", arguments='*** "a"\né')
    text = "".join(event.delta for event in found if isinstance(event, ToolArgs))
    assert orjson.loads(text) == {"input": '*** "a"\né'}
    assert isinstance(found[-1], ToolEnd)


def test_arguments_that_were_changed_after_they_streamed_are_told_beside() -> None:
    server = in_turn()
    server.tell("assistant.tool_call_delta", toolCallId="c", toolName="bash", inputDelta='{"a":1}')
    [end] = server.tell("tool.execution_start", toolCallId="c", toolName="bash", arguments={"a": 2})
    assert end == ToolEnd("t1:c", {"copilot": {"arguments": {"a": 2}}})


def test_a_call_that_never_streamed_is_told_at_once() -> None:
    server = in_turn()
    found = server.tell("tool.execution_start", toolCallId="c", toolName="view", arguments={"path": "x"})
    assert found == [ToolStart("t1:c", "view"), ToolArgs("t1:c", '{"path":"x"}'), ToolEnd("t1:c")]
    assert server.tell("tool.execution_start", toolCallId="c", toolName="view", arguments={"path": "x"}) == []


def test_an_id_that_comes_again_after_its_result_is_another_call() -> None:
    server = in_turn()
    for expected in ("t1:c", "t1:c.2"):
        start = server.tell("tool.execution_start", toolCallId="c", toolName="view", arguments={})[0]
        assert isinstance(start, ToolStart) and start.id == expected
        [result] = server.tell("tool.execution_complete", toolCallId="c", success=True, result={"content": "ok"})
        assert isinstance(result, ToolResult) and result.id == expected


def test_a_failed_call_says_why() -> None:
    server = in_turn()
    server.tell("tool.execution_start", toolCallId="c", toolName="bash", arguments={})
    error = {"message": "The user rejected this tool call.", "code": "rejected"}
    [result] = server.tell("tool.execution_complete", toolCallId="c", success=False, error=error)
    assert isinstance(result, ToolResult)
    assert result.content == "The user rejected this tool call."
    assert result.metadata == {"copilot": {"success": False, "code": "rejected"}}


def test_output_that_is_told_twice_is_shown_once() -> None:
    server = in_turn()
    server.tell("tool.execution_start", toolCallId="c", toolName="bash", arguments={})
    assert server.tell("tool.execution_partial_result", toolCallId="c", partialOutput="") == []
    [first] = server.tell("tool.shell_output", toolCallId="c", text="one\n", sequence=0, stream="stdout")
    assert first == ActivitySet("t1:c:output", "tool_output", {"toolCallId": "t1:c", "output": ["one\n"]})
    assert server.tell("tool.execution_partial_result", toolCallId="c", partialOutput="one\n") == []
    [more] = server.tell("tool.shell_output", toolCallId="c", text="two\n", sequence=1, stream="stdout")
    assert isinstance(more, ActivityPatched) and more.patch[0]["value"] == "two\n"


def test_output_of_a_command_goes_on_in_the_next_turn() -> None:
    server = in_turn()
    server.tell("tool.execution_start", toolCallId="c", toolName="bash", arguments={})
    server.tell("tool.execution_complete", toolCallId="c", success=True, result={"content": "started"})
    server.tell("session.idle")
    server.dialect.prompt(Prompt([], "t2"))
    [printed] = server.tell("tool.shell_output", toolCallId="c", text="late", sequence=0)
    assert isinstance(printed, ActivitySet) and printed.id == "t1:c:output"


def test_todos_are_asked_for_and_shown_as_a_plan() -> None:
    server = in_turn()
    assert server.tell("session.todos_changed") == []
    rows = [{"title": "one", "status": "done"}, {"title": "two", "status": "pending"}]
    [plan] = server.reply(server.request("session.plan.readSqlTodos"), {"rows": rows})
    entries = [{"content": "one", "status": "completed"}, {"content": "two", "status": "pending"}]
    assert plan == ActivitySet("t1:plan", "plan", {"entries": entries})


# -- subagents


def test_a_subagent_has_a_lane_of_its_own() -> None:
    server = in_turn()
    server.tell("tool.execution_start", toolCallId="c", toolName="task", arguments={})
    told: Json = {"toolCallId": "c", "agentName": "explore", "agentDisplayName": "looker", "agentDescription": "looks"}
    [start] = server.tell("subagent.started", agent="a", **told)
    assert start == SubagentStart("t1:a", "looker", "looks", tool_call_id="t1:c")
    [delta] = server.tell("assistant.message_delta", agent="a", messageId="m", deltaContent="hi")
    assert isinstance(delta, TextDelta) and delta.subagent == "t1:a"
    assert server.tell("session.idle", agent="a") == []
    assert server.tell("session.model_change", agent="a", newModel="small") == []
    assert "custom.acp.models.current" not in server.dialect.facts
    assert server.tell("subagent.completed", agent="a", toolCallId="c") == [SubagentEnd("t1:a")]
    assert server.tell("assistant.turn_end", agent="a", turnId="0") == []


def test_a_subagent_that_fails_says_why_and_one_that_nobody_announced_is_announced() -> None:
    server = in_turn()
    start, delta = server.tell("assistant.message_delta", agent="b", messageId="m", deltaContent="hi")
    assert start == SubagentStart("t1:b", "subagent")
    assert server.tell("subagent.failed", agent="b", error="no") == [SubagentBroke("t1:b", "no")]
    again, _ = server.tell("assistant.message_delta", agent="b", messageId="m", deltaContent="back")
    assert again == SubagentStart("t1:b.2", "subagent"), "an id is one invocation's"
    assert delta is not None


# -- questions


def permission(server: Server, **request: Any) -> Question:
    server.tell("tool.execution_start", toolCallId="c", toolName="bash", arguments={})
    told: Json = {"kind": "shell", "toolCallId": "c", "fullCommandText": "rm x", "intention": "Tidy up", **request}
    shown = {"kind": "commands", "commandIdentifiers": ["rm"], "canOfferSessionApproval": True}
    [asked] = server.tell("permission.requested", requestId="q", permissionRequest=told, promptRequest=shown)
    assert isinstance(asked, Asked)
    [question] = asked.questions
    return question


def answered(server: Server, question: Question, payload: Any, status: Any = "resolved") -> Json:
    server.dialect.answer(question.id, Answer(question.id, status, payload))
    [request] = server.asked()
    params: Json = request["params"]
    assert params["sessionId"] == SESSION and params["requestId"] == "q"
    return params


def test_a_permission_is_a_question_about_its_call() -> None:
    question = permission(in_turn())
    assert (question.id, question.reason, question.tool_call_id) == ("t1:q", "tool_call", "t1:c")
    assert question.message == "Tidy up\nrm x"
    schema = question.response_schema or {}
    assert schema["properties"]["optionId"]["enum"] == ["approve-once", "approve-for-session", "reject"]


ONCE = {"kind": "approve-once", "approvedInteractively": True}
NOBODY = {"kind": "user-not-available"}


@pytest.mark.parametrize(
    ("payload", "result"),
    [
        ({"approved": True}, ONCE),
        ({"optionId": "approve-once"}, ONCE),
        (
            {"optionId": "approve-for-session"},
            {"kind": "approve-for-session", "approval": {"kind": "commands", "commandIdentifiers": ["rm"]}},
        ),
        ({"approved": False}, {"kind": "reject"}),
        ({"approved": False, "feedback": "later"}, {"kind": "reject", "feedback": "later"}),
        ({"optionId": "reject"}, {"kind": "reject"}),
        ({"approved": True, "editedArgs": {"command": "ls"}}, {"kind": "reject"}),
        ({"optionId": "approve-everything", "approved": True}, NOBODY),
        ({"approved": "yes"}, NOBODY),
        ({}, NOBODY),
        (True, NOBODY),
        (None, NOBODY),
    ],
)
def test_only_a_clear_yes_is_sent_as_one(payload: Any, result: Json) -> None:
    server = in_turn()
    assert answered(server, permission(server), payload)["result"] == result


def test_a_cancelled_question_approves_of_nothing() -> None:
    server = in_turn()
    assert answered(server, permission(server), {"approved": True}, "cancelled")["result"] == NOBODY


def test_for_the_session_is_offered_only_where_the_server_can_keep_it() -> None:
    server = in_turn()
    [asked] = server.tell("permission.requested", requestId="q", permissionRequest={"kind": "read", "path": "/etc/x"})
    assert isinstance(asked, Asked)
    [question] = asked.questions
    assert (question.reason, question.tool_call_id, question.message) == ("confirmation", None, "/etc/x")
    assert (question.response_schema or {})["properties"]["optionId"]["enum"] == ["approve-once", "reject"]
    assert answered(server, question, {"optionId": "approve-for-session"})["result"] == NOBODY


@pytest.mark.parametrize(("policy", "kind"), [("auto", "approve-once"), ("deny", "reject")])
def test_a_policy_answers_in_the_humans_place(policy: Approvals, kind: str) -> None:
    server = in_turn(policy)
    assert server.tell("permission.requested", requestId="q", permissionRequest={"kind": "shell"}) == []
    assert server.request("session.permissions.handlePendingPermissionRequest")["params"]["result"]["kind"] == kind


def test_a_denial_by_policy_lets_the_turn_go_on() -> None:
    """A plain `reject` would end it; one with a word does not."""
    server = in_turn("deny")
    server.tell("permission.requested", requestId="q", permissionRequest={"kind": "shell"})
    assert "feedback" in server.asked()[0]["params"]["result"]


def test_what_a_hook_has_decided_is_not_asked() -> None:
    server = in_turn()
    assert server.tell("permission.requested", requestId="q", permissionRequest={}, resolvedByHook=True) == []
    assert server.asked() == []


def test_an_answer_is_given_once() -> None:
    server = in_turn()
    question = permission(server)
    answered(server, question, {"approved": True})
    server.dialect.answer(question.id, Answer(question.id, "resolved", {"approved": True}))
    assert server.asked() == []


def asks(server: Server, kind: str, **data: Any) -> Question:
    [asked] = server.tell(kind, requestId="q", **data)
    assert isinstance(asked, Asked)
    return asked.questions[0]


@pytest.mark.parametrize(
    ("payload", "status", "response"),
    [
        ({"answer": "red"}, "resolved", {"answer": "red", "wasFreeform": False}),
        ("green", "resolved", {"answer": "green", "wasFreeform": True}),
        ({"optionId": "blue"}, "resolved", {"answer": "blue", "wasFreeform": False}),
        ({}, "resolved", {"answer": "The user did not answer.", "wasFreeform": True}),
        (None, "cancelled", {"answer": "The user did not answer.", "wasFreeform": True}),
    ],
)
def test_a_question_of_the_agents_is_answered_in_words(payload: Any, status: str, response: Json) -> None:
    server = in_turn()
    question = asks(server, "user_input.requested", question="Which?", choices=["red", "blue"], allowFreeform=True)
    assert (question.reason, question.message) == ("input_required", "Which?")
    assert answered(server, question, payload, status)["response"] == response


def test_choices_alone_are_the_only_answers_where_nothing_else_goes() -> None:
    question = asks(in_turn(), "user_input.requested", question="Which?", choices=["a"], allowFreeform=False)
    assert (question.response_schema or {})["properties"]["answer"]["enum"] == ["a"]


@pytest.mark.parametrize(
    ("payload", "status", "result"),
    [
        ({"name": "Ann"}, "resolved", {"action": "accept", "content": {"name": "Ann"}}),
        (None, "resolved", {"action": "decline"}),
        (None, "cancelled", {"action": "cancel"}),
    ],
)
def test_a_form_is_filled_in_declined_or_left(payload: Any, status: str, result: Json) -> None:
    server = in_turn()
    schema = {"type": "object", "properties": {"name": {"type": "string"}}}
    question = asks(server, "elicitation.requested", message="Who?", requestedSchema=schema, elicitationSource="echo")
    assert question.response_schema == schema
    assert question.metadata == {"copilot": {"elicitationSource": "echo"}}
    assert answered(server, question, payload, status)["result"] == result


@pytest.mark.parametrize(
    ("payload", "response"),
    [
        ({"approved": True}, {"approved": True, "selectedAction": "interactive"}),
        ({"optionId": "autopilot"}, {"approved": True, "selectedAction": "autopilot"}),
        ({"optionId": "reject", "feedback": "use blue"}, {"approved": False, "feedback": "use blue"}),
        ({"optionId": "dance", "approved": True}, {"approved": False}),
        ({"approved": False}, {"approved": False}),
        (None, {"approved": False}),
    ],
)
def test_a_plain_yes_to_a_plan_is_none_to_going_on_unasked(payload: Any, response: Json) -> None:
    server = in_turn()
    told: Json = {"actions": ["autopilot", "interactive", "exit_only"], "recommendedAction": "autopilot"}
    question = asks(server, "exit_plan_mode.requested", summary="Do it", planContent="1. all", **told)
    assert question.message == "Do it\n\n1. all"
    assert answered(server, question, payload)["response"] == response


@pytest.mark.parametrize("kind", ["user_input.requested", "elicitation.requested", "exit_plan_mode.requested"])
@pytest.mark.parametrize("policy", ["auto", "deny"])
def test_no_human_is_asked_where_a_policy_rules(kind: str, policy: Approvals) -> None:
    server = in_turn(policy)
    assert server.tell(kind, requestId="q") == []
    assert len(server.asked()) == 1


@pytest.mark.parametrize(
    "kind",
    ["sampling.requested", "mcp.oauth_required", "external_tool.requested", "session_limits_exhausted.requested"],
)
def test_what_nobody_can_be_asked_is_declined_at_once(kind: str) -> None:
    server = in_turn()
    [warned] = server.tell(kind, requestId="q")
    assert isinstance(warned, Warned) and warned.code == "QUESTION_DECLINED"
    [request] = server.asked()
    assert request["params"]["requestId"] == "q"


def test_the_twin_of_a_question_is_left_alone_and_any_other_request_is_refused() -> None:
    server = in_turn()
    twin = {"jsonrpc": "2.0", "id": 1, "method": "userInput.request", "params": {"sessionId": SESSION}}
    assert server.say(twin) == [] and server.asked() == []
    other = {"jsonrpc": "2.0", "id": 2, "method": "hooks.invoke", "params": {}}
    assert server.say(other) == [Unread(other, "copilot")]
    [refusal] = server.asked()
    assert refusal["id"] == 2 and refusal["error"]["code"] == -32601


# -- actions


def test_models_are_listed_in_the_catalogs_words() -> None:
    server = ready()
    ticket = server.dialect.do("models")
    told: Json = {
        "id": "gpt-5.5",
        "name": "GPT-5.5",
        "vendor": "OpenAI",
        "supportedReasoningEfforts": ["low", "high"],
        "capabilities": {
            "supports": {"vision": True, "toolCalls": True},
            "limits": {"max_context_window_tokens": 400000, "max_output_tokens": 128000},
        },
    }
    server.reply(server.request("models.list"), {"models": [told, {"name": "nameless"}]})
    assert server.dialect.replies[ticket].value == [
        {
            "id": "gpt-5.5",
            "name": "GPT-5.5",
            "context": 400000,
            "output": 128000,
            "image_input": True,
            "tools": True,
            "efforts": ["low", "high"],
            "provider": "OpenAI",
        }
    ]


def test_models_want_somebody_who_is_signed_in() -> None:
    server = ready()
    ticket = server.dialect.do("models")
    server.reply(server.request("models.list"), error={"code": -32603, "message": "Not authenticated."})
    error = server.dialect.replies[ticket].error
    assert error is not None and error.code == "AUTH_REQUIRED"


@pytest.mark.parametrize(
    ("action", "params", "method", "sent", "result", "value"),
    [
        ("fork", {}, "sessions.fork", {}, {"sessionId": "copy"}, "copy"),
        ("delete", {}, "sessions.delete", {}, {}, None),
        ("set_mode", {"mode": "plan"}, "session.mode.set", {"mode": "plan"}, {}, None),
        (
            "set_model",
            {"model": "m"},
            "session.model.switchTo",
            {"modelId": "m"},
            {"modelState": {"modelId": "m"}},
            None,
        ),
        (
            "list",
            {},
            "sessions.list",
            None,
            {"sessions": [{"sessionId": "a", "name": "A", "context": {"cwd": "/w"}}, {"name": "nameless"}]},
            [{"sessionId": "a", "title": "A", "cwd": "/w"}],
        ),
    ],
)
def test_an_action_is_one_call(
    action: str, params: Json, method: str, sent: Json | None, result: Json, value: Any
) -> None:
    server = ready()
    ticket = server.dialect.do(action, params)
    request = server.request(method)
    assert request["params"] == ({} if sent is None else {"sessionId": SESSION, **sent})
    server.reply(request, result)
    assert server.dialect.replies[ticket].value == value


def test_what_was_set_between_turns_is_known() -> None:
    server = ready()
    server.dialect.do("set_mode", {"mode": "plan"})
    server.reply(server.request("session.mode.set"), {})
    server.dialect.prompt(Prompt([], "t1", mode="plan"))
    assert [request["method"] for request in server.asked()] == ["session.send"]


def test_every_action_that_is_promised_can_be_done() -> None:
    for action in CopilotDialect.actions:
        assert ready().dialect.do(action)


# -- the rest


def test_what_is_not_understood_is_handed_on_whole() -> None:
    server = in_turn()
    [unread] = server.tell("session.brand_new", x=1)
    assert isinstance(unread, Unread) and unread.event["params"]["event"]["type"] == "session.brand_new"
    assert isinstance(server.dialect.read([b"Warning: something"])[0], Unread)


def test_a_server_that_cannot_reach_mcp_says_so() -> None:
    server = in_turn()
    assert server.tell("session.mcp_server_status_changed", serverName="x", status="connected") == []
    [told] = server.tell("session.mcp_server_status_changed", serverName="x", status="failed", error="no")
    assert told == Custom("copilot.mcp_server", {"serverName": "x", "status": "failed", "error": "no"})


def test_a_compaction_is_told_with_its_tokens() -> None:
    server = in_turn()
    [start] = server.tell("session.compaction_start", trigger="threshold")
    [end] = server.tell("session.compaction_complete", success=True, preCompactionTokens=9, postCompactionTokens=3)
    assert start == Custom("copilot.compaction", {"status": "started", "trigger": "threshold"})
    assert end == Custom("copilot.compaction", {"status": "completed", "tokensBefore": 9, "tokensAfter": 3})
