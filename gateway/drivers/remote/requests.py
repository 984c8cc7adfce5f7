"""What is sent to a remote agent, and what another gateway says of one: plain data, no connection."""

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
from gateway.turn import Turn

_NAME = re.compile(r"\{(\w+)\}")


def headers(remote: Remote, definition: AgentDefinition, environ: Mapping[str, str]) -> dict[str, str]:
    """With what they name of the environment. Raises `ConfigError` for a name that is not there, and for a value that
    does not go into a header, without telling it."""

    def value(match: re.Match[str]) -> str:
        if match[1] not in environ:
            raise ConfigError(f"{definition.source}: remote.headers: {match[1]} is not set in the environment")
        return environ[match[1]]

    made = {name: _NAME.sub(value, text) for name, text in remote.headers.items()}
    for name, text in made.items():
        try:
            check_header_value(text)
        except ValueError as exc:
            raise ConfigError(f"{definition.source}: remote.headers.{name}: {exc}") from exc
    return made


def run_input(turn: Turn) -> dict[str, Any]:
    """`RunAgentInput`, as the client sent it."""
    whole = {
        "threadId": turn.thread_id,
        "runId": turn.run_id,
        "protocolVersion": turn.protocol_version or "1.0",
        "parentRunId": turn.parent_run_id,
        "state": {} if turn.state is None else turn.state,
        "messages": turn.messages,
        "tools": turn.tools,
        "context": turn.context,
        "forwardedProps": _props(turn.forwarded_props),
        "resume": [_answer(answer.interrupt_id, answer.status, answer.payload) for answer in turn.resume] or None,
    }
    return {key: value for key, value in whole.items() if value is not None}


def _props(given: Any) -> Any:
    """Whole, but for one: that this gateway goes on when its client leaves must not keep the far one from stopping when
    this one does."""
    match given:
        case None:
            return {}
        case {"gateway": {"onDisconnect": _, **wishes}, **rest}:
            return {**rest, "gateway": wishes}
        case _:
            return given


def escape_segment(name: str) -> str:
    """One step of a path, whatever its name: one of dots must not lead to another place than it says."""
    return quote(name, safe="").replace(".", "%2E")


def of_the_agent(told: Mapping[str, Any]) -> dict[str, Any]:
    """Capabilities without what another gateway says for itself: how it is reached, what it adds. That is for this one
    to say, of its own way to its clients."""
    custom = told.get("custom")
    rest = {key: value for key, value in told.items() if key not in ("transport", "custom")}
    if not isinstance(custom, Mapping):
        return rest
    kept = {key: value for key, value in custom.items() if key not in ("gateway", "relay")}
    return {**rest, "custom": kept} if kept else rest


def far_availability(told: Any) -> Availability | None:
    """As another gateway's `GET /agents/{id}` has it."""
    match told:
        case {"availability": {"status": "ready" | "not-installed" | "needs-auth" | "broken" as status, **more}}:
            reason, hint, version = (_text(more.get(key)) for key in ("reason", "hint", "version"))
            return Availability(status, reason, hint, version)
        case _:
            return None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _answer(interrupt_id: str, status: str, payload: Any) -> dict[str, Any]:
    told = {"interruptId": interrupt_id, "status": status}
    return told if payload is None else {**told, "payload": payload}
