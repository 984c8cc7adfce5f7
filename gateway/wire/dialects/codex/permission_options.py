"""A request of Codex's that waits for an answer, and the ways to answer it.

In: the app server's request. Out: the options that a human may choose from, each with the decision as Codex wants it.
Nothing is decided here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gateway.wire.fields import items, non_empty, obj, text

COMMAND = "item/commandExecution/requestApproval"
FILES = "item/fileChange/requestApproval"
PERMISSIONS = "item/permissions/requestApproval"
INPUT = "item/tool/requestUserInput"
ELICITATION = "mcpServer/elicitation/request"
ASKED = (COMMAND, FILES, PERMISSIONS, INPUT, ELICITATION)

NAMES = {
    "accept": ("Allow once", "allow_once"),
    "acceptForSession": ("Allow for this session", "allow_always"),
    "acceptWithExecpolicyAmendment": ("Allow this, and commands like it from now on", "allow_always"),
    "acceptAlways": ("Always allow", "allow_always"),
    "decline": ("Decline, and let the agent go on", "reject_once"),
    "cancel": ("Decline, and stop the turn", "reject_once"),
}
"""Decision → what people read, and its kind in ACP's words."""
USUAL = ("accept", "acceptForSession", "decline", "cancel")
PERSIST = {"acceptForSession": "session", "acceptAlways": "always"}
"""Option → Codex's word for how long an MCP tool is allowed."""


@dataclass(frozen=True, slots=True)
class Option:
    id: str
    decision: Any
    """As Codex wants it."""
    name: str
    kind: str


@dataclass(frozen=True, slots=True)
class Pending:
    """One request that waits."""

    request_id: Any
    method: str
    params: dict[str, Any]

    @property
    def about_tool(self) -> bool:
        """May something be done? Else it is a form to fill in. Codex asks for leave to call an MCP tool by an
        elicitation with an empty form."""
        if self.method == ELICITATION:
            return obj(self.params.get("_meta")).get("codex_approval_kind") == "mcp_tool_call"
        return self.method != INPUT

    @property
    def options(self) -> list[Option]:
        match self.method:
            case method if method == PERMISSIONS:
                return [_plain(name) for name in ("accept", "acceptForSession", "decline")]
            case method if method == ELICITATION:
                return [_plain(name) for name in ("accept", *self._lasting(), "decline", "cancel")]
            case _:
                told = self.params.get("availableDecisions")
                return _offered(told) if isinstance(told, list) else [_plain(name) for name in USUAL]

    def _lasting(self) -> list[str]:
        told = obj(self.params.get("_meta")).get("persist")
        return [name for name, how in PERSIST.items() if isinstance(told, list) and how in told]

    @property
    def questions(self) -> dict[str, dict[str, Any]]:
        """Of a request for input, by their ids."""
        asked = items(self.params.get("questions"))
        return {name: one for one in asked if (name := non_empty(one.get("id"))) is not None}


def _offered(told: list[Any]) -> list[Option]:
    found: dict[str, Option] = {}
    for decision in told:
        option = _decision(decision, len(found))
        if option is not None:
            found.setdefault(option.id, option)
    # Not always listed, and always taken: the one no that does not end the turn.
    found.setdefault("decline", _plain("decline"))
    return list(found.values())


def _plain(name: str) -> Option:
    return Option(name, name, *NAMES.get(name, (name, "allow_always")))


def _decision(told: Any, number: int) -> Option | None:
    """A word, or an object of one key: a rule to be added."""
    if isinstance(told, str) and told:
        return _plain(told)
    if not isinstance(told, dict) or len(told) != 1:
        return None
    [(name, rule)] = told.items()
    host = obj(obj(rule).get("network_policy_amendment"))
    if not host:
        return Option(name, told, *NAMES.get(name, (name, "allow_always")))
    action = text(host.get("action")) or "set"
    words = f"{action.capitalize()} {text(host.get('host')) or 'this host'} from now on"
    return Option(f"{name}:{number}", told, words, "allow_always" if action == "allow" else "reject_always")
