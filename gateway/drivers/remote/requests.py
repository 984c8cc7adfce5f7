"""Requests to a remote agent, and the parts of its answers, as plain data: nothing here connects."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from gateway.catalog.definition import AgentDefinition
from gateway.catalog.field_types import check_header_value
from gateway.catalog.sections import Remote
from gateway.drivers.probe import Availability
from gateway.errors import ConfigError
from gateway.turn import Answer, Turn

_VARIABLE = re.compile(r"\{(\w+)\}")


def request_headers(remote: Remote, definition: AgentDefinition, environ: Mapping[str, str]) -> dict[str, str]:
    """The headers of the definition, with `{NAME}` replaced from the environment. Raises `ConfigError` for a variable
    that is not set, and for a value that a header cannot hold; the error does not show the value."""

    def read_variable(match: re.Match[str]) -> str:
        if match[1] not in environ:
            raise ConfigError(f"{definition.source}: remote.headers: {match[1]} is not set in the environment")
        return environ[match[1]]

    headers = {name: _VARIABLE.sub(read_variable, template) for name, template in remote.headers.items()}
    for name, value in headers.items():
        try:
            check_header_value(value)
        except ValueError as exc:
            raise ConfigError(f"{definition.source}: remote.headers.{name}: {exc}") from exc
    return headers


def run_input(turn: Turn) -> dict[str, Any]:
    """`RunAgentInput`, as the client sent it."""
    fields = {
        "threadId": turn.thread_id,
        "runId": turn.run_id,
        "protocolVersion": turn.protocol_version or "1.0",
        "parentRunId": turn.parent_run_id,
        "state": {} if turn.state is None else turn.state,
        "messages": turn.messages,
        "tools": turn.tools,
        "context": turn.context,
        "forwardedProps": _forwarded_props(turn.forwarded_props),
        "resume": [_resume_entry(answer) for answer in turn.resume] or None,
    }
    return {key: value for key, value in fields.items() if value is not None}


def _forwarded_props(props: Any) -> Any:
    """All of them except `gateway.onDisconnect`: a client may want this gateway to go on when the client disconnects,
    but the other gateway must stop when this one disconnects."""
    match props:
        case None:
            return {}
        case {"gateway": {"onDisconnect": _, **options}, **rest}:
            return {**rest, "gateway": options}
        case _:
            return props


def _resume_entry(answer: Answer) -> dict[str, Any]:
    entry = {"interruptId": answer.interrupt_id, "status": answer.status}
    return entry if answer.payload is None else {**entry, "payload": answer.payload}


def escape_segment(name: str) -> str:
    """One segment of a path. Dots are escaped too: a segment `..` must not lead to another resource.
    Half a surrogate pair, which no URL can carry, becomes a question mark."""
    return quote(name, safe="", errors="replace").replace(".", "%2E")


def agent_capabilities(snapshot: Mapping[str, Any]) -> dict[str, Any]:
    """Capabilities without those of the other gateway itself: how it is reached, what it adds. This gateway states its
    own to its clients."""
    custom = snapshot.get("custom")
    tree = {key: value for key, value in snapshot.items() if key not in ("transport", "custom")}
    if not isinstance(custom, Mapping):
        return tree
    agent_custom = {key: value for key, value in custom.items() if key not in ("gateway", "relay")}
    return {**tree, "custom": agent_custom} if agent_custom else tree


def read_availability(body: Any) -> Availability | None:
    """From another gateway's `GET /agents/{id}`."""
    match body:
        case {"availability": {"status": "ready" | "not-installed" | "needs-auth" | "broken" as status, **fields}}:
            reason, hint, version = (_read_text(fields.get(key)) for key in ("reason", "hint", "version"))
            return Availability(status, reason, hint, version)
        case _:
            return None


def describe_error(exc: BaseException) -> str:
    """`ConnectError: all connection attempts failed`"""
    return f"{type(exc).__name__}: {exc}".rstrip(": ")


def _read_text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
