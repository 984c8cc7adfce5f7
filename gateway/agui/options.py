"""`forwardedProps.gateway`: the options of a run beyond `RunAgentInput`.

In: `forwardedProps` as JSON, with anything that the application put there. Out: `Options`. Everything but the key
`gateway` passes unchanged. Below that key every option is described here, and an unknown one is refused: a misspelt
option must not be ignored silently. Never: whether the agent supports an option; that is `capabilities.check`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from gateway.agui.schema import Anything, Field, Findings, Flag, ListOf, Name, Number, Object, OneOf, Path, Schema
from gateway.events import Json
from gateway.turn import Options

MAX_LIST_ITEMS = 256
"""In an option that is a list."""

NAME = Name(512, "it is a name")


@dataclass(frozen=True, slots=True)
class ArgumentName:
    """A name that may become an argument of a command: it must not be readable as a flag."""

    def read(self, value: Json, path: Path, findings: Findings) -> Json:
        if isinstance(value, str) and value.startswith("-"):
            findings.refuse(path, "must not begin with '-'")
        return NAME.read(value, path, findings)


ARGUMENT_NAME = ArgumentName()
PATH = Name(4096, "it is a path")  # Linux's PATH_MAX


@dataclass(frozen=True, slots=True)
class StreamSchema:
    """The option `stream`: true, false or "auto"."""

    def read(self, value: Json, path: Path, findings: Findings) -> Json:
        if not isinstance(value, bool) and value != "auto":
            findings.refuse_type('true, false or "auto"', value, path)
        return value


@dataclass(frozen=True, slots=True)
class MergeSchema:
    """The option `merge`: true, false, or true with a window, `{"windowMs": 16}`."""

    window = Object((Field("windowMs", Number(0, 1000)),), is_closed=True)

    def read(self, value: Json, path: Path, findings: Findings) -> Json:
        if isinstance(value, bool):
            return value
        if isinstance(value, dict):
            return self.window.read(value, path, findings)
        findings.refuse_type('true, false or {"windowMs": …}', value, path)
        return value


OPTION_SCHEMAS: dict[str, Schema] = {
    "model": ARGUMENT_NAME,
    "effort": OneOf(("low", "medium", "high", "max")),
    "thinkingBudgetTokens": Number(0, 2**53 - 1, is_integer=True),
    "thinkingOverride": Object(),
    "mode": ARGUMENT_NAME,
    "approvals": OneOf(("prompt", "auto", "deny")),
    "cwd": PATH,
    "additionalDirectories": ListOf(PATH, max_items=MAX_LIST_ITEMS),
    "mcpServers": ListOf(Object(), max_items=MAX_LIST_ITEMS),
    "outputSchema": Object(),
    "outputFormat": OneOf(("text", "json")),
    "maxTurns": Number(1, 10_000, is_integer=True),
    "stream": StreamSchema(),
    "sessionId": ARGUMENT_NAME,
    "forkSessionId": ARGUMENT_NAME,
    "skills": ListOf(ARGUMENT_NAME, max_items=MAX_LIST_ITEMS),
    "onDisconnect": OneOf(("cancel", "continue")),
    "worktree": Flag(),
    "strict": Flag(),
    "merge": MergeSchema(),
}


@dataclass(frozen=True, slots=True)
class ForwardedProps:
    """Any JSON value; if it is an object, the options below its key `gateway` are read."""

    gateway_object = Object(
        (Field("gateway", Object(tuple(Field(key, schema) for key, schema in OPTION_SCHEMAS.items()), is_closed=True)),)
    )
    any_value = Anything()

    def read(self, value: Json, path: Path, findings: Findings) -> Json:
        return (self.gateway_object if isinstance(value, dict) else self.any_value).read(value, path, findings)


FORWARDED_PROPS = ForwardedProps()


def read_options(forwarded_props: Json) -> Options:
    """The options in props that `FORWARDED_PROPS` has read without a problem."""
    options = forwarded_props.get("gateway", {}) if isinstance(forwarded_props, dict) else {}
    values = {_to_snake_case(key): _to_tuple(value) for key, value in options.items() if key != "merge"}
    return Options(**values, **_read_merge(options))


def _read_merge(options: dict[str, Json]) -> dict[str, Any]:
    match options.get("merge"):
        case {"windowMs": window}:
            return {"merge": True, "merge_window_ms": float(window)}
        case dict():
            return {"merge": True}
        case merge:
            return {"merge": merge}


def _to_snake_case(key: str) -> str:
    return re.sub("[A-Z]", lambda capital: "_" + capital[0].lower(), key)


def _to_tuple(value: Json) -> Json:
    return tuple(value) if isinstance(value, list) else value
