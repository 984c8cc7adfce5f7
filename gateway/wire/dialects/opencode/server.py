"""`opencode serve`: one server, a session for each thread, calls over HTTP.

`[cli.params]`: `permission`, rules for the sessions (`{permission, pattern, action}`); `system`, said to the model with
every prompt. MCP servers belong to a directory: threads that work in the same one share them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from gateway.events import Event, TurnFailed
from gateway.wire.dialects.base import NO_PARAMS, ActionResult, Prompt, SessionStart
from gateway.wire.dialects.opencode.errors import refused
from gateway.wire.dialects.opencode.requests import (
    listed_models,
    mcp_body,
    mcp_failure,
    prompt_body,
    rules,
    session_path,
)
from gateway.wire.dialects.opencode.server_events import Reading
from gateway.wire.fields import items, non_empty, obj

PREFIX = "ses"


class OpenCode(Reading):
    name = "opencode"
    actions = frozenset(("models", "fork", "delete", "set_model", "set_mode"))

    def __init__(self) -> None:
        super().__init__()
        self._servers: list[Mapping[str, Any]] = []

    # -- the session

    def start_session(self, begin: SessionStart) -> None:
        super().start_session(begin)
        self.is_ready = False
        self.forget_calls()
        self.forget_turn()
        self._servers = list(begin.mcp_servers)
        self._next_server()

    def _next_server(self) -> None:
        if self._servers:
            body = mcp_body(self._servers.pop(0))
            self.call("POST", "/mcp", body, partial(self._served, body["name"]))
        else:
            self._open()

    def _served(self, name: Any, answer: dict[str, Any]) -> list[Event]:
        good = answer.get("status") == 200
        why = mcp_failure(answer.get("body"), name) if good else refused(answer, "POST /mcp").detail
        self._next_server()
        return (
            []
            if why is None
            else [self.make_warning("MCP_SERVER_FAILED", f"the MCP server {name!r} cannot be used: {why}")]
        )

    def _open(self) -> None:
        session_id, fork = self.session_start.session_id, self.session_start.fork
        if session_id is None:
            self._create()
        elif not session_id.startswith(PREFIX):  # it would be a failure of the server's own
            self._found({"status": 404, "body": {"message": f"{session_id} is no session of opencode's"}})
        elif fork:
            self.call("POST", session_path(session_id, "/fork"), {}, self._opened)
        else:
            self.call("GET", session_path(session_id), None, self._found)

    def _create(self) -> None:
        told = rules(self.session_start)
        self.call("POST", "/session", {"permission": told} if told else {}, self._opened)

    def _found(self, answer: dict[str, Any]) -> list[Event]:
        if answer.get("status") != 404 or self.session_start.fork:
            return self._opened(answer)
        self.has_lost_history = True
        self._create()
        return []

    def _opened(self, answer: dict[str, Any]) -> list[Event]:
        info = obj(answer.get("body"))
        session_id = non_empty(info.get("id"))
        if answer.get("status") != 200 or session_id is None:
            self.failure = refused(answer, "opencode has no session to work in")
            return []
        self.session_id = session_id
        self.know(info)
        known = items(info.get("permission"))
        # A session that comes from elsewhere has other rules, or none.
        if missing := [rule for rule in rules(self.session_start) if rule not in known]:
            self.call("PATCH", session_path(session_id), {"permission": missing}, self._ruled)
        else:
            self.is_ready = True
        return []

    def _ruled(self, answer: dict[str, Any]) -> list[Event]:
        """Without its rules it would not ask: then it must not work."""
        self.is_ready = answer.get("status") == 200
        if not self.is_ready:
            self.failure = refused(answer, "opencode did not take the session's rules")
        return []

    # -- a turn

    def prompt(self, prompt: Prompt) -> None:
        self.start_turn(prompt)
        self.begin_reading()
        path = session_path(self.session_id or "", "/prompt_async")
        body = prompt_body(prompt, self.session_start.params.get("system"))
        self.call("POST", path, body, partial(self._posted, prompt.id_prefix))

    def _posted(self, key: str, answer: dict[str, Any]) -> list[Event]:
        if answer.get("status") in (200, 204) or not self.is_busy or key != self.turn.id_prefix:
            return []
        if self.is_cancelled:
            return self.over(self.end_turn("cancelled"))
        fault = refused(answer, "opencode did not take the prompt")
        return self.over([TurnFailed(fault.detail, fault.code)])

    def cancel(self) -> bool:
        self.is_cancelled = True
        if not self._unseen:  # else when they are there: they would be answered after it
            self.abort()
        return True

    # -- between turns

    def start_action(self, action: str, params: Mapping[str, Any] = NO_PARAMS) -> str:
        session_id = non_empty(params.get("sessionId")) or self.session_id or ""
        match action:
            case "models":
                return self._do("GET", "/config/providers", None, listed_models)
            case "fork":
                return self._do("POST", session_path(session_id, "/fork"), {}, lambda body: obj(body).get("id"))
            case "delete":
                return self._do("DELETE", session_path(session_id), None, lambda body: None)
            case _:  # the model and the mode go with every prompt
                self.action_results[action] = ActionResult()
                return action

    def _do(self, method: str, path: str, body: Any, read: Any) -> str:
        def heard(answer: dict[str, Any]) -> list[Event]:
            good = answer.get("status") == 200
            error = None if good else refused(answer, f"{method} {path}")
            self.action_results[answer["id"]] = ActionResult(read(answer.get("body")) if good else None, error)
            return []

        return self.call(method, path, body, heard)
