"""omp's `--mode rpc`: pi's, with a greeting, long messages in chunks, approvals of its own, client tools, subagents.

In and out as for pi. omp sends `ready` first. Messages beyond a megabyte are cut short in its first protocol and come
in chunks in the second, which is requested. The events of subagents are subscribed to.
"""

from __future__ import annotations

from base64 import b64decode
from binascii import Error
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from gateway.errors import AgentFault
from gateway.events import ClientToolCall, ClientToolsCalled, Event, TextMessageContent
from gateway.turn import Answer
from gateway.wire.dialects.base import Prompt, SessionStart, parse_message
from gateway.wire.dialects.pi.errors import clean_message
from gateway.wire.dialects.pi.omp_client_tools import HostTools, refuse_call
from gateway.wire.dialects.pi.permissions import Dialog
from gateway.wire.dialects.pi.rpc import RPC_READERS, PiRpc, Reader
from gateway.wire.dialects.pi.subagents import Subagents
from gateway.wire.dialects.pi.tool_calls import PiCall
from gateway.wire.dialects.pi.turn_lifecycle import OmpTurnLifecycle
from gateway.wire.fields import integer, non_empty, text

Json = dict[str, Any]

PROTOCOL_VERSION = 2
MAX_CHUNKED_BYTES = 64 << 20
"""omp's own bound for a message in chunks."""


class ChunkBuffer:
    """Puts messages together that come in chunks. Chunks of a message follow each other."""

    def __init__(self) -> None:
        self._chunks: list[bytes] = []

    def clear(self) -> None:
        self._chunks = []

    def read(self, line: Json) -> tuple[bool, bytes | None]:
        """Whether the chunk is valid; and the whole message, if it is the last."""
        data = text(line.get("data"))
        index = integer(line.get("index"))
        count = integer(line.get("count"))
        if data is None or index is None or count is None:
            return False, None
        if index == 0:
            self._chunks = []
        if index != len(self._chunks) or sum(map(len, self._chunks)) > MAX_CHUNKED_BYTES:
            return False, None
        try:
            self._chunks.append(b64decode(data, validate=True))
        except (Error, ValueError):
            return False, None
        if len(self._chunks) < count:
            return True, None
        whole = b"".join(self._chunks)
        self._chunks = []
        return True, whole


class OmpRpc(PiRpc):
    name: ClassVar[str] = "omp"
    agent: ClassVar[str] = "omp"
    has_intent: ClassVar[bool] = True
    can_call_client_tools: ClassVar[bool] = True
    takes_feedback: ClassVar[bool] = False
    """Its approvals are a choice of Approve and Deny."""

    def __init__(self) -> None:
        super().__init__()
        self._chunks = ChunkBuffer()
        self._tools = HostTools()
        self._subagents = Subagents(self.qualify_id, self._events, lambda: self._tools.names)
        self._command_count = 0

    def _new_turns(self) -> OmpTurnLifecycle:
        return OmpTurnLifecycle(self, self._call, self._events, self._permissions, self._on_stuck)

    # -- the session

    def start_session(self, start: SessionStart) -> None:
        self._chunks.clear()
        self._subagents.clear()
        self._tools.clear()
        super().start_session(start)

    def _open_session(self) -> None:
        """omp sends `ready` first."""

    def _read_ready(self, line: Json) -> list[Event]:
        """An older omp refuses the first two commands, and works without them."""
        versions = line.get("supportedProtocolVersions")
        if isinstance(versions, list) and PROTOCOL_VERSION in versions:
            self._call({"type": "negotiate_protocol", "protocolVersion": PROTOCOL_VERSION}, lambda line: [])
        self._call({"type": "set_subagent_subscription", "level": "events"}, lambda line: [])
        self._call({"type": "get_state"}, self._read_opened)
        return []

    def _read_state(self, state: Json) -> None:
        super()._read_state(state)
        wanted = None if self.session_start.fork else self.session_start.session_id
        session_file = text(state.get("sessionFile")) or ""
        if wanted is not None and is_of_other_directory(session_file, self.session_start.cwd):
            message = f"the session {wanted} is another directory's: omp would work there, not in"
            self.failure = AgentFault(f"{message} {self.session_start.cwd}", code="SESSION_NOT_FOUND")

    # -- lines

    @property
    def _readers(self) -> Mapping[str, Reader]:
        return OMP_READERS

    def _read_chunk(self, line: Json) -> Iterable[Event] | None:
        is_valid, message = self._chunks.read(line)
        if message is None:
            return [] if is_valid else None
        whole = parse_message(message)
        if not isinstance(whole, dict) or whole.get("type") == "rpc_chunk":
            return None
        events = self._read_line(whole)
        return [self.to_raw(whole)] if events is None else events

    def _read_command_output(self, line: Json) -> list[Event] | None:
        if text(line.get("text")) is None:
            return None
        self._events.messages.break_off()
        self._command_count += 1
        output = clean_message(line.get("text"))
        return [TextMessageContent(output, self.qualify_id(f"c{self._command_count}"))] if output else []

    def _read_config(self, line: Json) -> list[Event]:
        self._settings.note(line.get("model"), line.get("thinkingLevel"))
        return []

    def _read_uri_request(self, line: Json) -> list[Event] | None:
        """omp asks the host for a resource. The gateway has none."""
        request_id = _read_request_id(line)
        if request_id is None:
            return None
        error = "The host has no such place."
        self.send({"type": "host_uri_result", "id": request_id, "isError": True, "error": error})
        return []

    # -- the client's tools

    def prompt(self, prompt: Prompt) -> None:
        """The tools are offered before the prompt is sent."""
        offer = self._tools.offer(prompt.tools)
        self._begin_turn(prompt, self._tools.names)
        if self._needs_gate(prompt):
            self._setup.refuse()
        elif offer is not None:
            self._setup.start((offer, self._read_offered))
        else:
            self._setup.start()

    def _read_offered(self, line: Json) -> list[Event]:
        if line.get("success") is True:
            return self._setup.read_prepared(line)
        self._tools.clear()
        message = f"omp did not take the application's own tools: {clean_message(line.get('error'))}"
        return [self.make_warning("TOOLS_DROPPED", message), *self._setup.read_prepared({"success": True})]

    def _read_tool_call(self, line: Json) -> list[Event] | None:
        request_id = _read_request_id(line)
        if request_id is None:
            return None
        native_id = non_empty(line.get("toolCallId"))
        is_offered = text(line.get("toolName")) in self._tools.names
        if native_id is None or not is_offered or self.is_cancelled or not self.is_busy:
            self.send(refuse_call(request_id))
            return []
        calls = self._events.messages.calls
        call, subagent = self._subagents.find_call(native_id)
        events: list[Event] = []
        if call is None:
            events = calls.read_start({**line, "args": line.get("arguments")})
            call = calls.get(native_id)
        if call is None:
            return None
        self._tools.add_call(call.id, request_id)
        self._events.messages.break_off()
        return [*events, ClientToolsCalled((ClientToolCall(call.id, call.name, subagent),))]

    def _read_tool_cancel(self, line: Json) -> list[Event]:
        self._tools.withdraw_call(line.get("targetId"))
        return []

    def answer(self, interrupt_id: str, answer: Answer) -> None:
        result = self._tools.answer(interrupt_id, answer)
        if result is not None:
            self.send(result)
        else:
            super().answer(interrupt_id, answer)

    # -- permissions

    def _request_permission(self, dialog: Dialog) -> list[Event]:
        """Whether a client tool may run is decided by the client: omp's own approval is given."""
        if self.is_cancelled or dialog.approved_tool not in self._tools.names:
            return super()._request_permission(dialog)
        self.send(dialog.to_policy_response("auto"))
        return []

    def _find_call(self, dialog: Dialog) -> tuple[PiCall | None, str | None]:
        return self._subagents.find_requested(dialog) if dialog.is_omp_approval else (None, None)


def is_of_other_directory(session_file: str, cwd: str) -> bool:
    """Whether a session's file certainly belongs to another directory: omp then works there without asking.

    The file's folder is named after the directory, relative to the home directory or the directory for temporary files
    where it is inside one of them.
    """
    folder = session_file.replace("\\", "/").rpartition("/")[0].rpartition("/")[2].strip("-")
    current = cwd.replace("\\", "/").replace("/", "-").replace(":", "-").strip("-")
    suffixes = [folder, folder.removeprefix("tmp-")]
    matches = any(current == suffix or current.endswith(f"-{suffix}") for suffix in suffixes)
    return bool(folder) and folder != "tmp" and not matches


def _read_request_id(line: Json) -> str | int | None:
    return non_empty(line.get("id")) or integer(line.get("id"))


OMP_READERS: dict[str, Reader] = {
    **RPC_READERS,
    "ready": OmpRpc._read_ready,
    "rpc_chunk": OmpRpc._read_chunk,
    "prompt_result": lambda omp, line: omp._turns.read_prompt_result(line),
    "command_output": OmpRpc._read_command_output,
    "config_update": OmpRpc._read_config,
    "host_tool_call": OmpRpc._read_tool_call,
    "host_tool_cancel": OmpRpc._read_tool_cancel,
    "host_uri_request": OmpRpc._read_uri_request,
    "host_uri_cancel": lambda omp, line: [],
    "subagent_lifecycle": lambda omp, line: omp._subagents.read_lifecycle(line),
    "subagent_progress": lambda omp, line: [],  # the subagent's events have it
    "subagent_event": lambda omp, line: omp._subagents.read_event(line),
}
"""Line types that omp's rpc mode reads itself; `EventReader` reads the others."""
