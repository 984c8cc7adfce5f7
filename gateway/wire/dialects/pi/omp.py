"""omp's `--mode rpc`: pi's, with a greeting, long messages in chunks, approvals of its own, and subagents.

In and out as for pi. It says `ready` first. `agent_end` says whether it is the last. Messages past a megabyte are cut
short in its first protocol and come in chunks in the second, which is asked for. Subagents' events are subscribed to:
each is a lane of its own.
"""

from __future__ import annotations

from base64 import b64decode
from binascii import Error
from collections.abc import Iterable
from typing import Any, ClassVar

from gateway.errors import AgentFault
from gateway.events import (
    ClientToolCall,
    ClientToolsCalled,
    Event,
    SubagentError,
    SubagentFinished,
    SubagentStarted,
    TextMessageContent,
)
from gateway.turn import Answer
from gateway.wire.dialects.base import Prompt, SessionStart, parse_message
from gateway.wire.dialects.pi import permissions
from gateway.wire.dialects.pi.errors import cleaned
from gateway.wire.dialects.pi.messages import Lane
from gateway.wire.dialects.pi.omp_client_tools import Served, refused, result
from gateway.wire.dialects.pi.rpc import RPC, PiRpc
from gateway.wire.dialects.pi.tool_calls import Call
from gateway.wire.fields import non_empty, obj, text

CHUNKED_BYTES = 64 << 20
"""omp's own bound for a message in chunks."""
ENDS = ("completed", "failed", "aborted")
LOOKS = 100
"""So often omp is asked whether it goes on with words that it holds; then it is given up, with its process."""


class OmpRpc(PiRpc):
    name: ClassVar[str] = "omp"
    agent: ClassVar[str] = "omp"
    intent: ClassVar[bool] = True
    can_call_client_tools: ClassVar[bool] = True

    def __init__(self) -> None:
        self._served = Served()
        super().__init__()
        self._chunks: list[bytes] = []
        self._lanes: dict[str, Lane] = {}
        """Of subagents, by omp's own ids."""
        self._names: dict[str, str] = {}
        """…and what they are called at the client."""
        self._commands_run = self._looks = 0
        self._offer: dict[str, Any] | None = None
        """What omp is to be told of them before the prompt."""

    # -- the process

    def start_session(self, begin: SessionStart) -> None:
        self._chunks.clear()
        self._lanes.clear()
        self._served.forget()
        super().start_session(begin)

    def _open(self) -> None:
        """Nothing yet: it greets first."""

    def _greeted(self, told: dict[str, Any]) -> list[Event]:
        versions = told.get("supportedProtocolVersions")
        if isinstance(versions, list) and 2 in versions:
            self.ask({"type": "negotiate_protocol", "protocolVersion": 2}, _whatever)
        self.ask({"type": "set_subagent_subscription", "level": "events"}, _whatever)
        self.ask({"type": "get_state"}, self._opened)
        return []

    def _know(self, state: dict[str, Any]) -> None:
        super()._know(state)
        wanted = None if self.session_start.fork else self.session_start.session_id
        if wanted is not None and remote_proxy(text(state.get("sessionFile")) or "", self.session_start.cwd):
            words = (
                f"the session {wanted} is another directory's: omp would work there, not in {self.session_start.cwd}"
            )
            self.failure = AgentFault(words, code="SESSION_NOT_FOUND")

    def _chunk(self, told: dict[str, Any]) -> Iterable[Event] | None:
        """Chunks of a message come one after the other, and nothing in between."""
        data, index, count = told.get("data"), told.get("index"), told.get("count")
        if not isinstance(data, str) or type(index) is not int or type(count) is not int:
            return None
        if index == 0:
            self._chunks.clear()
        if index != len(self._chunks) or sum(map(len, self._chunks)) > CHUNKED_BYTES:
            return None
        try:
            self._chunks.append(b64decode(data, validate=True))
        except Error:
            return None
        if len(self._chunks) < count:
            return []
        whole, self._chunks = parse_message(b"".join(self._chunks)), []
        return self._told(whole) if type(whole) is dict and whole.get("type") != "rpc_chunk" else None

    # -- what pi has not

    def _prompt_result(self, told: dict[str, Any]) -> list[Event]:
        """A command of omp's own, which no model had a part in."""
        return self._over() if self._accepted and told.get("agentInvoked") is False and self._at_rest else []

    def _look(self) -> None:
        """There is no need to: ends say whether they are the last, and prompts what came of them."""

    def _maybe_over(self, told: dict[str, Any]) -> list[Event]:
        """An end that is too long to be told whole is told without saying whether it is the last."""
        if told.get("type") == "agent_end":
            super()._look()
        return []

    def _command_output(self, told: dict[str, Any]) -> list[Event] | None:
        words = text(told.get("text"))
        if words is None:
            return None
        self._lane.break_off()
        self._commands_run += 1
        return [TextMessageContent(cleaned(words), self.qualify_id(f"c{self._commands_run}"))] if cleaned(words) else []

    # -- words for a turn under way

    def _withdraw(self, key: str) -> None:
        """omp gives none back: what came too late for its loop it begins another with, even when told to stop."""
        self.ask({"type": "get_state"}, lambda told: self._kept(key, told))

    def _kept(self, key: str, told: dict[str, Any]) -> list[Event]:
        if key != self.turn.id_prefix or not self.is_busy:
            return []
        self._asked_back = self._withdrawing = False
        state = obj(told.get("data"))
        if state.get("isStreaming") is True or not self._at_rest:
            return []  # the next end will tell
        if state.get("queuedMessageCount") == 0:
            return super()._withdrawn(key, {"data": {"steering": []}})
        self._looks += 1
        return self._over() if self._looks < LOOKS else super()._withdrawn(key, {})

    def _agent_start(self, told: dict[str, Any]) -> list[Event]:
        if self.is_busy and self.is_cancelled and self._words:
            self._abort()
        return super()._agent_start(told)

    # -- the client's own tools

    def prompt(self, prompt: Prompt) -> None:
        self._looks = 0
        self._offer = self._served.offer(prompt.tools)
        super().prompt(prompt)

    def _next(self) -> None:
        """They are there before the prompt is."""
        offer, self._offer = self._offer, None
        return super()._next() if offer is None else self.ask(offer, self._offered)

    def _offered(self, told: dict[str, Any]) -> list[Event]:
        if told.get("success") is True:
            return self._prepared(told)
        self._served.forget()
        words = f"omp did not take the application's own tools: {cleaned(text(told.get('error')) or '')}"
        return [self.make_warning("TOOLS_DROPPED", words), *self._prepared({"success": True})]

    def _new_lane(self, subagent: str | None = None) -> Lane:
        lane = super()._new_lane(subagent)
        lane.calls.names = self._served.names
        return lane

    def _host_tool(self, told: dict[str, Any]) -> list[Event]:
        omps, agents_id, name = non_empty(told.get("id")), non_empty(told.get("toolCallId")), told.get("toolName")
        if omps is None or agents_id is None or name not in self._served.names or self.is_cancelled or not self.is_busy:
            self.send(refused(told.get("id")))  # what is called all the same must not be waited for
            return []
        call, subagent = self._parent(agents_id)
        found: list[Event] = []
        if call is None:
            found += self._lane.calls.runs({**told, "args": told.get("arguments")})
            call = self._lane.calls.known(agents_id)
            assert call is not None
        self._served.calls[call.id] = omps
        self._lane.break_off()
        return [*found, ClientToolsCalled((ClientToolCall(call.id, call.name, subagent),))]

    def _host_tool_cancel(self, told: dict[str, Any]) -> list[Event]:
        self._served.called_off(told.get("targetId"))
        return []

    def _asked(self, request: dict[str, Any]) -> list[Event]:
        """Whether a tool of the client's may run is for the client to say."""
        if self.is_cancelled or permissions.approves(request) not in self._served.names:
            return super()._asked(request)
        self.send(permissions.by_policy(request, "auto"))
        return []

    def answer(self, question_id: str, answer: Answer) -> None:
        if (omps := self._served.calls.pop(question_id, None)) is not None:
            self.send(result(omps, answer))
        else:
            super().answer(question_id, answer)

    # -- places of the host's own

    def _host_uri(self, told: dict[str, Any]) -> list[Event]:
        self.send(
            {"type": "host_uri_result", "id": told.get("id"), "isError": True, "error": "The host has no such place."}
        )
        return []

    def _config(self, told: dict[str, Any]) -> list[Event]:
        self._set_to(told.get("model"), told.get("thinkingLevel"))
        return []

    def _about(self, request: dict[str, Any]) -> tuple[Call | None, str | None]:
        if not permissions.is_approval(request):
            return None, None
        lanes: list[tuple[str | None, Lane]] = [(None, self._lane)]
        lanes += [(self._names.get(agents_id), lane) for agents_id, lane in self._lanes.items()]
        for name, lane in lanes:
            if (call := permissions.among(request, lane.calls.waiting)) is not None:
                return call, name
        return None, None

    # -- subagents

    def _lifecycle(self, told: dict[str, Any]) -> list[Event] | None:
        payload = obj(told.get("payload"))
        agents_id, status = non_empty(payload.get("id")), payload.get("status")
        if agents_id is None:
            return None
        if status == "started":
            return self._spawned(agents_id, payload)
        lane, name = self._lanes.pop(agents_id, None), self._names.pop(agents_id, None)
        if status not in ENDS or lane is None or name is None:
            return None if status not in ENDS else []
        found = list(lane.calls.close(cancelled=status == "aborted"))
        return [*found, SubagentFinished(name) if status == "completed" else SubagentError(name, _how(lane, status))]

    def _spawned(self, agents_id: str, payload: dict[str, Any]) -> list[Event]:
        name = self._names[agents_id] = self.qualify_id(f"sub:{agents_id}")
        self._lanes[agents_id] = self._new_lane(name)
        call, parent = self._parent(payload.get("parentToolCallId"))
        kind, description = non_empty(payload.get("agent")) or "task", non_empty(payload.get("description"))
        return [SubagentStarted(name, kind, description, parent, call.id if call else None)]

    def _parent(self, agents_call_id: Any) -> tuple[Call | None, str | None]:
        if (call := self._lane.calls.known(agents_call_id)) is not None:
            return call, None
        for agents_id, lane in self._lanes.items():
            if (call := lane.calls.known(agents_call_id)) is not None:
                return call, self._names.get(agents_id)
        return None, None

    def _subagent_event(self, told: dict[str, Any]) -> Iterable[Event] | None:
        payload = obj(told.get("payload"))
        lane = self._lanes.get(non_empty(payload.get("id")) or "")
        if lane is None:
            return None
        return lane.read(obj(payload.get("event"))) or []  # its own loop, retries and the like are no lane's


def remote_proxy(session_file: str, cwd: str) -> bool:
    """Whether a session's file is surely that of another directory: omp goes to the session's directory, unasked. Its
    folder is named after the directory, below the home or the place for temporary files where it is one of theirs."""
    folder = session_file.replace("\\", "/").rpartition("/")[0].rpartition("/")[2].strip("-")
    here = cwd.replace("\\", "/").replace("/", "-").replace(":", "-").strip("-")
    endings = [folder, folder.removeprefix("tmp-")]
    return bool(folder) and folder != "tmp" and not any(here == end or here.endswith(f"-{end}") for end in endings)


def _how(lane: Lane, status: str) -> str:
    return cleaned(text(lane.fault.get("errorMessage")) or "") or f"The subagent {status}."


def _whatever(told: dict[str, Any]) -> list[Event]:
    """An older omp knows less, and goes on."""
    return []


OmpRpc.handlers = {
    **RPC,
    "ready": OmpRpc._greeted,
    "agent_start": OmpRpc._agent_start,
    "rpc_chunk": OmpRpc._chunk,
    "prompt_result": OmpRpc._prompt_result,
    "command_output": OmpRpc._command_output,
    "config_update": OmpRpc._config,
    "host_tool_call": OmpRpc._host_tool,
    "host_tool_cancel": OmpRpc._host_tool_cancel,
    "host_uri_request": OmpRpc._host_uri,
    "host_uri_cancel": OmpRpc._nothing,
    "subagent_lifecycle": OmpRpc._lifecycle,
    "subagent_progress": OmpRpc._nothing,  # its events have told it
    "subagent_event": OmpRpc._subagent_event,
}
