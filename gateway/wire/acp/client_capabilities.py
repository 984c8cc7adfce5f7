"""What the gateway says of itself in `initialize`.

In: what this gateway will answer for this agent. Out: the request's params. Nothing is offered that is not handled.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ClientCapabilities:
    """Each default is the safe one: agents write files and run commands themselves when nobody offers to."""

    fs_read: bool = False
    fs_write: bool = False
    terminal: bool = False
    elicitation_form: bool = True
    elicitation_url: bool = True
    auth_terminal: bool = True
    """The operator can run a sign-in command in a terminal; the gateway tells it."""
    terminal_output: bool = False
    """A vendors' habit: with it, some agents stream a command's output in `_meta` of the tool call's updates."""
    name: str = "agui-gateway"
    title: str = "AG-UI gateway"
    version: str = "0"


def initialize_params(version: int, client: ClientCapabilities) -> dict[str, Any]:
    """For version 1 its own shape. To probe for 2, both shapes in one object: each side reads the one it knows, where
    an agent that speaks 2 refuses 2 in the old shape."""
    info = {"name": client.name, "title": client.title, "version": client.version}
    params: dict[str, Any] = {"protocolVersion": version, "clientCapabilities": _first(client), "clientInfo": info}
    if version >= 2:
        params |= {"capabilities": _second(client), "info": info}
    return params


def _elicitation(client: ClientCapabilities) -> dict[str, Any]:
    modes = {"form": client.elicitation_form, "url": client.elicitation_url}
    return {mode: {} for mode, offered in modes.items() if offered}


def _first(client: ClientCapabilities) -> dict[str, Any]:
    offered: dict[str, Any] = {
        "fs": {"readTextFile": client.fs_read, "writeTextFile": client.fs_write},
        "terminal": client.terminal,
        "auth": {"terminal": client.auth_terminal},
        "session": {"configOptions": {"boolean": {}}, "compaction": {}, "notices": {}},
        "plan": {},
        "subagents": {},
    }
    if modes := _elicitation(client):
        offered["elicitation"] = modes
    if client.terminal_output:
        offered["_meta"] = {"terminal_output": True}
    return offered


def _second(client: ClientCapabilities) -> dict[str, Any]:
    """In version 2 plans, notices and compaction need no offer, and the client has neither files nor terminals."""
    offered: dict[str, Any] = {}
    if client.auth_terminal:
        offered["auth"] = {"terminal": {}}
    if modes := _elicitation(client):
        offered["elicitation"] = modes
    return offered
