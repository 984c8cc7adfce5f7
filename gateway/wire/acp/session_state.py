"""The state of a session: modes, models, options, commands, title, usage.

In: results of `session/new`, `load`, `resume`, `fork` and of setting an option, and the updates that change them, of
both protocol versions. Out: the normalised state, and its capability layer. Never: anything of `_meta`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from gateway.capability_paths import SESSION
from gateway.wire.fields import count, items, non_empty, number, obj, present, text, value_at

CONNECTED_STATUSES = ("connected", "ready")

Change = tuple[str, Any]
"""The name of the CUSTOM event that reports it, and its value."""


@dataclass(slots=True)
class SessionState:
    """Empty lists and None: the agent reported nothing."""

    version: int = 1
    """The protocol version: requests have different forms."""
    cwd: str | None = None
    modes: list[dict[str, Any]] = field(default_factory=list)
    mode: str | None = None
    models: list[dict[str, Any]] = field(default_factory=list)
    model: str | None = None
    """Modes and models are an older API, which some agents have beside config options, and some instead."""
    options: list[dict[str, Any]] = field(default_factory=list)
    """`id name description category type value`, and for a select `options` of `value name description group`."""
    commands: list[dict[str, Any]] = field(default_factory=list)
    title: str | None = None
    updated_at: str | None = None
    usage: dict[str, Any] = field(default_factory=dict)
    """`used` and `size` of the context in tokens, `cost` so far."""
    mcp_servers: list[dict[str, str]] = field(default_factory=list)
    """`name status error`, where the agent reports what became of its MCP servers."""
    state: str | None = None
    """Version 2: running, idle, requires_action."""

    def read_result(self, result: Any) -> None:
        """The result of a request that opens a session or sets an option."""
        fields = obj(result)
        if isinstance(fields.get("modes"), dict):
            self.modes = _choices(fields["modes"].get("availableModes"), "id")
            self.mode = non_empty(fields["modes"].get("currentModeId"))
        if isinstance(fields.get("models"), dict):
            self.models = _choices(fields["models"].get("availableModels"), "modelId")
            self.model = non_empty(fields["models"].get("currentModelId"))
        if isinstance(fields.get("configOptions"), list):
            self.options = _options(fields["configOptions"])
            self._follow_options()
        if isinstance(fields.get("availableCommands"), list):
            self.commands = _commands(fields["availableCommands"])

    def read_update(self, update: dict[str, Any]) -> Change | None:
        """The change to report; None if the update changes nothing."""
        reader = READERS.get(non_empty(update.get("sessionUpdate")) or "")
        read = reader(update) if reader else None
        if read is None:
            return None
        changes, report = read
        before = replace(self)
        for name, value in changes.items():
            setattr(self, name, value)
        if "options" in changes:
            self._follow_options()
        return report if self != before else None

    def set_mode(self, mode: str) -> None:
        """The gateway has set a mode by the older API, whose result is empty."""
        self.mode = mode

    def set_model(self, model: str) -> None:
        self.model = model

    def set_mcp_server(self, name: str | None, status: str | None, reason: str | None) -> None:
        """What became of one MCP server. `reason`: for a status that is no success."""
        if not name or not status:
            return
        error = None if status in CONNECTED_STATUSES else reason
        others = [server for server in self.mcp_servers if server["name"] != name]
        self.mcp_servers = [*others, present({"name": name, "status": status, "error": error})]

    def _follow_options(self) -> None:
        """Mode and model of the older API mirror the options of these categories; the newest value counts."""
        if self.mode_option is not None:
            self.mode = text(self.mode_option.get("value"))
        if self.model_option is not None:
            self.model = text(self.model_option.get("value"))

    @property
    def mode_option(self) -> dict[str, Any] | None:
        return next((option for option in self.options if option.get("category") == "mode"), None)

    @property
    def model_option(self) -> dict[str, Any] | None:
        """cline has two of this category, the provider before the model: the one with the id `model` is meant."""
        options = [option for option in self.options if option.get("category") == "model"]
        return next((option for option in options if option["id"] == "model"), options[0] if options else None)


def session_layer(state: SessionState) -> dict[str, Any]:
    """The state below `custom.session`, by dotted path. Lists come from the config options if there are some."""
    modes = _choice(state.mode_option, state.modes, state.mode)
    models = _choice(state.model_option, state.models, state.model)
    info = {"title": state.title, "updatedAt": state.updated_at}
    tree = {"modes": modes, "models": models, "info": info, "usage": state.usage}
    flat = {f"{name}.{key}": value for name, values in tree.items() for key, value in values.items()}
    # An agent may report a new mode, and not the option that shows it.
    config = [
        option | {"value": state.mode} if option is state.mode_option and state.mode else option
        for option in state.options
    ]
    flat |= {"config": config, "commands": state.commands, "cwd": state.cwd, "mcpServers": state.mcp_servers}
    return {f"{SESSION}.{path}": value for path, value in present(flat).items()}


def _choice(option: dict[str, Any] | None, listed: list[dict[str, Any]], current: str | None) -> dict[str, Any]:
    if option is not None:
        values = option["options"]
        listed = [present({"id": value["value"], **_texts(value, "name", "description")}) for value in values]
    return {"available": listed, "current": current}


# -- readers of the results and updates


def _choices(choices: Any, id_key: str) -> list[dict[str, Any]]:
    return [
        present({"id": choice_id, **_texts(choice, "name", "description")})
        for choice in items(choices)
        if (choice_id := non_empty(choice.get(id_key))) is not None
    ]


def _texts(fields: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: text(fields.get(key)) for key in keys}


def _options(config_options: Any) -> list[dict[str, Any]]:
    options = []
    for option in items(config_options):
        option_id = non_empty(option.get("configId")) or non_empty(option.get("id"))
        if option_id is None:
            continue
        kind = non_empty(option.get("type")) or "select"
        fields = present({"id": option_id, **_texts(option, "name", "description", "category"), "type": kind})
        value = option.get("currentValue")
        if isinstance(value, bool | str):
            fields["value"] = value
        options.append(fields | {"options": _values(option.get("options")) if kind == "select" else []})
    return options


def _values(values: Any, group: str | None = None) -> list[dict[str, Any]]:
    """A list of values, or of groups of values."""
    flat: list[dict[str, Any]] = []
    for value in items(values):
        if isinstance(value.get("options"), list):
            flat += _values(value["options"], text(value.get("name")))
        elif (key := text(value.get("value"))) is not None:
            flat.append({"value": key, **present({**_texts(value, "name", "description"), "group": group})})
    return flat


def _commands(commands: Any) -> list[dict[str, Any]]:
    return [
        present({**_texts(command, "name", "description"), "hint": text(value_at(command, "input", "hint"))})
        for command in items(commands)
        if non_empty(command.get("name")) is not None
    ]


_Read = tuple[dict[str, Any], Change]


def _read_mode(update: dict[str, Any]) -> _Read | None:
    # The specification's own example calls it `modeId`.
    mode = non_empty(update.get("currentModeId")) or non_empty(update.get("modeId"))
    return None if mode is None else ({"mode": mode}, ("session.mode", {"mode": mode}))


def _read_config(update: dict[str, Any]) -> _Read | None:
    if not isinstance(update.get("configOptions"), list):
        return None
    options = _options(update["configOptions"])
    return {"options": options}, ("session.config", {"config": options})


def _read_commands(update: dict[str, Any]) -> _Read | None:
    if not isinstance(update.get("availableCommands"), list):
        return None
    commands = _commands(update["availableCommands"])
    return {"commands": commands}, ("session.commands", {"commands": commands})


def _read_info(update: dict[str, Any]) -> _Read | None:
    """Absent: unchanged. Null: cleared."""
    names = {"title": "title", "updatedAt": "updated_at"}
    info = {key: update[key] for key in names if key in update and isinstance(update[key], str | None)}
    return ({names[key]: value for key, value in info.items()}, ("session.info", info)) if info else None


def _read_usage(update: dict[str, Any]) -> _Read | None:
    cost = obj(update.get("cost"))
    amount = number(cost.get("amount"))
    usage = present(
        {
            "used": count(update.get("used")),
            "size": count(update.get("size")),
            "cost": None if amount is None else present({"amount": amount, "currency": text(cost.get("currency"))}),
        }
    )
    return ({"usage": usage}, ("session.usage", usage)) if usage else None


READERS = {
    "current_mode_update": _read_mode,
    "config_option_update": _read_config,
    "available_commands_update": _read_commands,
    "session_info_update": _read_info,
    "usage_update": _read_usage,
}
