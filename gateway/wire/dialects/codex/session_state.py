"""What Codex reports about a thread → the session layer of capabilities, and the turn that runs in it.

In: responses that open a thread, `thread/settings/updated`, `model/list`, token counts. Out: dotted path → value; None
where the value is unknown or gone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gateway import capability_paths as paths
from gateway.events import UserMessageAccepted
from gateway.wire.fields import count, items, non_empty, obj, present, text


@dataclass(slots=True)
class TurnState:
    """The turn that the gateway started."""

    id: str | None = None
    """Codex's id of the turn, once known."""
    is_running: bool = False
    """Codex has started the turn, so it can be interrupted and steered."""
    error: Any = None
    """The last error that Codex reported and will not retry."""
    diff: str = ""
    """The last diff of the turn that was reported."""
    steering: dict[str, UserMessageAccepted] = field(default_factory=dict)
    """Id sent to Codex → a message for the turn that Codex has not accepted yet."""
    started_ids: set[str] = field(default_factory=set)
    """All turns of the thread that Codex has started; a subagent's turn has one of these as its root."""
    ended_ids: set[str] = field(default_factory=set)

    def reset(self) -> None:
        """A new turn, or a new process."""
        self.id = None
        self.is_running = False
        self.error = None
        self.diff = ""
        self.steering.clear()

    def set_id(self, turn: dict[str, Any]) -> None:
        if (turn_id := non_empty(turn.get("id"))) is not None and turn_id not in self.ended_ids:
            self.id = turn_id
            self.started_ids.add(turn_id)

    def start(self) -> None:
        self.is_running = True

    def end(self, turn_id: str) -> bool:
        """A turn of the thread has ended. True: it is this one. Codex also starts turns on its own."""
        is_this = turn_id == self.id or (self.id is None and turn_id not in self.started_ids)
        self.ended_ids.add(turn_id)
        self.is_running = self.is_running and not is_this
        return is_this

    def set_error(self, error: Any) -> None:
        self.error = error

    def set_diff(self, diff: str) -> bool:
        """False: it is the same as before."""
        is_new = diff != self.diff
        self.diff = diff
        return is_new


def update_layer(layer: dict[str, Any], values: Mapping[str, Any]) -> None:
    """Set the values in a layer; None removes the path."""
    layer.update({path: value for path, value in values.items() if value is not None})
    for path in [path for path, value in values.items() if value is None]:
        layer.pop(path, None)


def thread_layer(result: dict[str, Any]) -> dict[str, Any]:
    """The response to `thread/start`, `thread/resume` or `thread/fork`."""
    layer = {
        paths.MODEL: non_empty(result.get("model")),
        paths.CWD: non_empty(result.get("cwd")),
        paths.TITLE: non_empty(obj(result.get("thread")).get("name")),
        paths.PROVIDER: non_empty(result.get("modelProvider")),
        paths.EFFORT: non_empty(result.get("reasoningEffort")),
    }
    return layer | permission_layer(result.get("approvalPolicy"), result.get("sandbox"))


def settings_layer(settings: dict[str, Any]) -> dict[str, Any]:
    layer = {
        paths.MODEL: non_empty(settings.get("model")),
        paths.PROVIDER: non_empty(settings.get("modelProvider")),
        paths.EFFORT: non_empty(settings.get("effort")),
        "custom.codex.summary": non_empty(settings.get("summary")),
        "custom.codex.collaboration": non_empty(obj(settings.get("collaborationMode")).get("mode")),
    }
    return layer | permission_layer(settings.get("approvalPolicy"), settings.get("sandboxPolicy"))


def permission_layer(policy: Any, sandbox: Any) -> dict[str, Any]:
    """A policy is a name, or an object of rules with its name as the only key."""
    name = next(iter(policy), None) if isinstance(policy, dict) else policy
    return {paths.PERMISSION_MODE: non_empty(name), paths.SANDBOX: non_empty(obj(sandbox).get("type"))}


def usage_layer(usage: dict[str, Any]) -> dict[str, Any]:
    """How much of the context is used."""
    return {
        paths.USED_TOKENS: count(obj(usage.get("last")).get("totalTokens")),
        paths.CONTEXT_TOKENS: count(usage.get("modelContextWindow")),
    }


def server_layer(layer: Mapping[str, Any], params: dict[str, Any]) -> dict[str, Any]:
    """The status of one MCP server, added to the others in the layer."""
    if (name := non_empty(params.get("name"))) is None:
        return {}
    others = [server for server in layer.get(paths.MCP_SERVERS, ()) if server["name"] != name]
    server = present({"name": name, "status": non_empty(params.get("status")), "error": text(params.get("error"))})
    return {paths.MCP_SERVERS: [*others, server]}


def read_models(result: Any) -> list[dict[str, Any]]:
    """The response to `model/list`."""
    models = []
    for model in items(obj(result).get("data")):
        if (model_id := non_empty(model.get("id"))) is None or model.get("hidden") is True:
            continue
        efforts = [non_empty(one.get("reasoningEffort")) for one in items(model.get("supportedReasoningEfforts"))]
        fields = {
            "id": model_id,
            "name": text(model.get("displayName")),
            "description": text(model.get("description")),
            "efforts": [effort for effort in efforts if effort],
            "defaultEffort": non_empty(model.get("defaultReasoningEffort")),
            "default": True if model.get("isDefault") is True else None,
            "successor": non_empty(model.get("upgrade")),
        }
        models.append(present(fields))
    return models


def models_layer(models: list[dict[str, Any]]) -> dict[str, Any]:
    keys = ("id", "name", "description", "efforts", "default")
    return {paths.MODELS: [{key: model[key] for key in keys if key in model} for model in models]}
