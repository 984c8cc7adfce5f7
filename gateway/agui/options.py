"""`forwardedProps.gateway`: what a run may ask of the gateway beyond `RunAgentInput`.

In: `forwardedProps` as JSON, whatever the application put there. Out: `Options`. All but our own key passes untouched;
under our key every word is described here, and an unknown one is refused: a misspelt wish must not be lost silently.
Whether the agent can grant a wish is for `capabilities.check` to say.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from gateway.agui.schema import Anything, Choice, Field, Findings, Flag, Line, ListOf, Number, Object, Place, Shape
from gateway.events import Json
from gateway.turn import Options

MOST_LISTED = 256
"""Items of a list of wishes."""

NAME = Line(512, "it is a name")


@dataclass(frozen=True, slots=True)
class Value:
    """A name that may become an argument of a command: it must not be readable as a flag."""

    def read(self, value: Json, at: Place, found: Findings) -> Json:
        if isinstance(value, str) and value.startswith("-"):
            found.refuse(at, "must not begin with '-'")
        return NAME.read(value, at, found)


VALUE = Value()
PATH = Line(4096, "it is a path")  # Linux's PATH_MAX


@dataclass(frozen=True, slots=True)
class Stream:
    """true, false or "auto"."""

    def read(self, value: Json, at: Place, found: Findings) -> Json:
        if not isinstance(value, bool) and value != "auto":
            found.expected('true, false or "auto"', value, at)
        return value


@dataclass(frozen=True, slots=True)
class Merge:
    """true, false, or true with a window: `{"windowMs": 16}`."""

    window = Object((Field("windowMs", Number(0, 1000)),), closed=True)

    def read(self, value: Json, at: Place, found: Findings) -> Json:
        if isinstance(value, bool):
            return value
        if isinstance(value, dict):
            return self.window.read(value, at, found)
        found.expected('true, false or {"windowMs": …}', value, at)
        return value


KEYS: dict[str, Shape] = {
    "model": VALUE,
    "effort": Choice(("low", "medium", "high", "max")),
    "thinkingBudgetTokens": Number(0, 2**53 - 1, whole=True),
    "thinkingOverride": Object(),
    "mode": VALUE,
    "approvals": Choice(("prompt", "auto", "deny")),
    "cwd": PATH,
    "additionalDirectories": ListOf(PATH, most=MOST_LISTED),
    "mcpServers": ListOf(Object(), most=MOST_LISTED),
    "outputSchema": Object(),
    "outputFormat": Choice(("text", "json")),
    "maxTurns": Number(1, 10_000, whole=True),
    "stream": Stream(),
    "sessionId": VALUE,
    "forkSessionId": VALUE,
    "skills": ListOf(VALUE, most=MOST_LISTED),
    "onDisconnect": Choice(("cancel", "continue")),
    "strict": Flag(),
    "merge": Merge(),
}


@dataclass(frozen=True, slots=True)
class ForwardedProps:
    """Any JSON value; if it is an object, our key in it is read."""

    ours = Object((Field("gateway", Object(tuple(Field(key, shape) for key, shape in KEYS.items()), closed=True)),))
    others = Anything()

    def read(self, value: Json, at: Place, found: Findings) -> Json:
        return (self.ours if isinstance(value, dict) else self.others).read(value, at, found)


FORWARDED_PROPS = ForwardedProps()


def read_options(forwarded_props: Json) -> Options:
    """The options in props that `FORWARDED_PROPS` has read without a problem."""
    asked = forwarded_props.get("gateway", {}) if isinstance(forwarded_props, dict) else {}
    plain = {_attribute(key): _frozen(value) for key, value in asked.items() if key != "merge"}
    return Options(**plain, **_merge(asked))


def _merge(asked: dict[str, Json]) -> dict[str, Any]:
    match asked.get("merge"):
        case {"windowMs": window}:
            return {"merge": True, "merge_window_ms": float(window)}
        case dict():
            return {"merge": True}
        case merge:
            return {"merge": merge}


def _attribute(key: str) -> str:
    return re.sub("[A-Z]", lambda capital: "_" + capital[0].lower(), key)


def _frozen(value: Json) -> Json:
    return tuple(value) if isinstance(value, list) else value
