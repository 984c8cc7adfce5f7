"""JSON-RPC requests to Copilot's SDK server, and what reads their answers.

In: a method, its params, and a function for the answer. Out: messages for the server. Answers to requests of an earlier
process are ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from gateway.capability_paths import EFFORT, MODE, MODEL
from gateway.errors import AgentFault
from gateway.events import Event
from gateway.wire.dialects.base import Dialect, Prompt
from gateway.wire.dialects.copilot.errors import to_agent_fault
from gateway.wire.dialects.copilot.session_state import read_model_state, read_models
from gateway.wire.fields import non_empty, obj, present, value_at
from gateway.wire.requests import RequestTable, tag_of

Data = dict[str, Any]
ID_SEPARATOR = "."
ReadResult = Callable[[Data, AgentFault | None], list[Event]]
"""Reads the answer to a request: its result, or its error as a fault."""


def ignore_result(result: Data, fault: AgentFault | None) -> list[Event]:
    return []


class Requests:
    """The requests of one thread, each with the function that reads its answer."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._open: RequestTable[tuple[str, ReadResult]] = RequestTable(separator=ID_SEPARATOR)

    def start_session(self) -> None:
        self._open.begin(self._dialect.session_start.tag)

    def send(self, method: str, params: Data, read_result: ReadResult = ignore_result) -> str:
        request_id = self._open.add((method, read_result))
        self._dialect.send({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})
        return request_id

    def send_to_session(self, method: str, params: Data, read_result: ReadResult = ignore_result) -> None:
        self.send(method, {"sessionId": self._dialect.session_id, **params}, read_result)

    def read_answer(self, message: Data) -> list[Event]:
        request = self._open.pop(message.get("id"))
        if request is None:
            return []
        method, read_result = request
        if "error" in message:
            return read_result({}, to_agent_fault(message.get("error"), method))
        return read_result(obj(message.get("result")), None)


def read_owner(message: Data) -> str | None:
    """The tag of the thread whose request is answered, or the session that a message is about."""
    if "method" not in message:
        return tag_of(message.get("id"), ID_SEPARATOR)
    params = obj(message.get("params"))
    return non_empty(params.get("sessionId")) or non_empty(value_at(params, "scope", "sessionId"))


def option_requests(prompt: Prompt, session_layer: Data) -> list[tuple[str, Data]]:
    """Method and params for each option of the prompt that the session is not set to."""
    requests: list[tuple[str, Data]] = []
    effort = non_empty(prompt.thinking.get("reasoningEffort"))
    if prompt.model is not None and prompt.model != session_layer.get(MODEL):
        params = present({"modelId": prompt.model, "reasoningEffort": effort})
        requests.append(("session.model.switchTo", params))
    elif effort is not None and effort != session_layer.get(EFFORT):
        requests.append(("session.model.setReasoningEffort", {"reasoningEffort": effort}))
    if prompt.mode is not None and prompt.mode != session_layer.get(MODE):
        requests.append(("session.mode.set", {"mode": prompt.mode}))
    return requests


def action_request(
    action: str, params: Mapping[str, Any], session_id: str | None, session_layer: Data
) -> tuple[str, Data, Callable[[Data], Any]]:
    """Method and params of an action, and what reads its value from the result."""
    session = {"sessionId": session_id}
    model, mode = params.get("model"), params.get("mode")
    match action:
        case "models":
            return "models.list", {}, read_models
        case "fork":
            return "sessions.fork", session, lambda result: non_empty(result.get("sessionId"))
        case "delete":
            return "sessions.delete", session, lambda result: None
        case "set_model":
            read_state = partial(read_model_state, session_layer)
            return "session.model.switchTo", session | {"modelId": model}, read_state
        case "set_mode":
            return "session.mode.set", session | {"mode": mode}, lambda result: session_layer.update({MODE: mode})
        case _:
            raise NotImplementedError(action)
