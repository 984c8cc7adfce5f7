"""The modes of an opencode session: its primary agents, and what each of them may do.

In: the answer to `GET /agent`, and the rules that every session of the gateway has. Out: the modes in the session's
layer, and the rules of a session in its mode. The server appends rules to those that a session has, and the last one
that fits decides: an agent's own denials have to be repeated after the gateway's rules, or the mode `plan` would ask
about edits instead of denying them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gateway.capability_paths import MODE, MODES
from gateway.errors import AgentFault
from gateway.events import Event
from gateway.wire.dialects.base import Dialect
from gateway.wire.dialects.opencode.errors import to_agent_fault
from gateway.wire.dialects.opencode.requests import RULE_KEYS, HttpCalls, permission_rules, session_path
from gateway.wire.fields import items, non_empty, obj, present, text

Rule = dict[str, Any]

ANY = "*"


@dataclass(frozen=True, slots=True)
class AgentMode:
    """One primary agent of opencode."""

    name: str
    description: str | None
    rules: tuple[Rule, ...]

    def to_json(self) -> dict[str, str]:
        return present({"id": self.name, "description": self.description})

    def denials(self, permission: str) -> tuple[Rule, ...]:
        """The rule that denies everything of this kind, with the exceptions after it; empty if the agent denies
        nothing, or only some of it."""
        own = [rule for rule in self.rules if rule["permission"] in (permission, ANY)]
        general = [index for index, rule in enumerate(own) if rule["pattern"] == ANY]
        if not general or own[general[-1]]["action"] != "deny":
            return ()
        return tuple({**rule, "permission": permission} for rule in own[general[-1] :])

    @property
    def runs_commands(self) -> bool:
        denials = self.denials("bash")
        return not denials or any(rule["action"] != "deny" for rule in denials)


class SessionModes:
    """The modes of one session, the one that it is in, and the rules that this brings. The first is the one that a
    session starts in."""

    def __init__(self, dialect: Dialect, calls: HttpCalls) -> None:
        self._dialect = dialect
        self._calls = calls
        self._modes: dict[str, AgentMode] = {}
        self._rules: list[Rule] = []
        """The last rules that the session got."""

    @property
    def current(self) -> str | None:
        """None: the server lists no modes, and has reported none."""
        mode: str | None = self._dialect.session_layer.get(MODE)
        return mode or next(iter(self._modes), None)

    def read_agents(self, answer: dict[str, Any]) -> None:
        """The answer to `GET /agent`. Agents that only others call, and those that opencode hides, are no modes. Of a
        server that does not list them nothing is known."""
        if answer.get("status") != 200:
            return
        agents = [agent for agent in items(answer.get("body")) if agent.get("mode") != "subagent"]
        modes = [_to_mode(agent) for agent in agents if agent.get("hidden") is not True]
        self._modes = {mode.name: mode for mode in modes if mode is not None}

    def open_session(self, info: dict[str, Any]) -> None:
        """The session as the server describes it. One that another client created has other rules, or none."""
        self._rules = items(info.get("permission"))
        if self._modes:
            self._dialect.session_layer[MODES] = [mode.to_json() for mode in self._modes.values()]
        self.set(self.current)

    def set(self, name: str | None) -> None:
        """It goes with every prompt from now on."""
        layer = self._dialect.session_layer
        layer |= present({MODE: name})
        if (mode := self._modes.get(self.current or "")) is not None:
            layer["execution.codeExecution"] = mode.runs_commands

    def list_rules(self) -> list[Rule]:
        """The gateway's rules for every session, and the mode's denials of the same kinds."""
        own = permission_rules(self._dialect.session_start)
        mode = self._modes.get(self.current or "")
        kinds = dict.fromkeys(rule["permission"] for rule in own if rule["pattern"] == ANY)
        return [*own, *(rule for kind in kinds for rule in ([] if mode is None else mode.denials(kind)))]

    def send_rules(self, then: Callable[[AgentFault | None], list[Event]]) -> list[Event]:
        """Give the session the rules of its mode, if others decide now, then go on."""
        rules = self.list_rules()
        if not rules or self._rules[-len(rules) :] == rules:
            return then(None)

        def read(answer: dict[str, Any]) -> list[Event]:
            if answer.get("status") != 200:
                return then(to_agent_fault(answer, "opencode did not take the session's rules"))
            self._rules = rules
            return then(None)

        self._calls.send("PATCH", session_path(self._dialect.session_id or ""), {"permission": rules}, read)
        return []


def _to_mode(agent: dict[str, Any]) -> AgentMode | None:
    name = non_empty(agent.get("name"))
    if name is None:
        return None
    rules = [
        rule
        for rule in map(obj, items(agent.get("permission")))
        if rule.keys() >= RULE_KEYS and all(isinstance(rule[key], str) for key in RULE_KEYS)
    ]
    return AgentMode(name, text(agent.get("description")), tuple(rules))
