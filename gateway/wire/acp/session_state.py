"""What a session is known to have: modes, models, options, commands, title, usage.

In: results of `session/new`, `load`, `resume`, `fork` and of setting an option, and the updates that change them, of
both protocol versions. Out: normalised facts, a capability layer of them, and the requests that change them. Nothing
of `_meta` is kept.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from gateway.capability_paths import SESSION
from gateway.wire.fields import count, items, non_empty, obj, present, text

Fact = tuple[str, Any]
"""The name of the CUSTOM event that tells it, and its value."""


@dataclass(slots=True)
class SessionState:
    """Empty lists and None: nothing was said."""

    version: int = 1
    """The protocol version spoken: requests have different shapes."""
    cwd: str | None = None
    modes: list[dict[str, Any]] = field(default_factory=list)
    mode: str | None = None
    models: list[dict[str, Any]] = field(default_factory=list)
    model: str | None = None
    """Both by the older API, which some agents have beside config options, and some alone."""
    options: list[dict[str, Any]] = field(default_factory=list)
    """`id name description category type value`, and for a select `options` of `value name description group`."""
    commands: list[dict[str, Any]] = field(default_factory=list)
    title: str | None = None
    updated_at: str | None = None
    usage: dict[str, Any] = field(default_factory=dict)
    """`used` and `size` of the context in tokens, `cost` so far."""
    state: str | None = None
    """Version 2: running, idle, requires_action."""

    def read_result(self, result: Any) -> None:
        """The answer to a request that opens a session or sets an option."""
        told = obj(result)
        if isinstance(told.get("modes"), dict):
            self.modes = _choices(told["modes"].get("availableModes"), "id")
            self.mode = non_empty(told["modes"].get("currentModeId"))
        if isinstance(told.get("models"), dict):
            self.models = _choices(told["models"].get("availableModels"), "modelId")
            self.model = non_empty(told["models"].get("currentModelId"))
        if isinstance(told.get("configOptions"), list):
            self.options = _options(told["configOptions"])
            self._follow_options()
        if isinstance(told.get("availableCommands"), list):
            self.commands = _commands(told["availableCommands"])

    def read_update(self, update: dict[str, Any]) -> Fact | None:
        """The fact that the update changed, to be told; None if it says nothing new."""
        read = READERS.get(update.get("sessionUpdate", ""))
        fact = read(update) if read else None
        if fact is None:
            return None
        changes, told = fact
        before = replace(self)
        for name, value in changes.items():
            setattr(self, name, value)
        if "options" in changes:
            self._follow_options()
        return told if self != before else None

    def chose_mode(self, mode: str) -> None:
        """A mode was set by the older API, which answers with nothing."""
        self.mode = mode

    def chose_model(self, model: str) -> None:
        self.model = model

    def _follow_options(self) -> None:
        """Mode and model by the older API mirror the options of these categories; the newest word counts."""
        if self.mode_option is not None:
            self.mode = text(self.mode_option.get("value"))
        if self.model_option is not None:
            self.model = text(self.model_option.get("value"))

    @property
    def mode_option(self) -> dict[str, Any] | None:
        return next((option for option in self.options if option.get("category") == "mode"), None)

    @property
    def model_option(self) -> dict[str, Any] | None:
        """cline has two of this category, the provider before the model: the one that is called so is meant."""
        found = [option for option in self.options if option.get("category") == "model"]
        return next((option for option in found if option["id"] == "model"), found[0] if found else None)


def layer(facts: SessionState) -> dict[str, Any]:
    """Under `custom.session`, by dotted path. Lists come from the config options where there are some."""
    modes = _offered(facts.mode_option, facts.modes, facts.mode)
    models = _offered(facts.model_option, facts.models, facts.model)
    info = {"title": facts.title, "updatedAt": facts.updated_at}
    tree = {"modes": modes, "models": models, "info": info, "usage": facts.usage}
    flat = {f"{name}.{key}": value for name, leaves in tree.items() for key, value in leaves.items()}
    # An agent may tell a new mode, and not the option that shows it.
    shown = [one | {"value": facts.mode} if one is facts.mode_option and facts.mode else one for one in facts.options]
    flat |= {"config": shown, "commands": facts.commands, "cwd": facts.cwd}
    return {f"{SESSION}.{path}": value for path, value in present(flat).items()}


def _offered(option: dict[str, Any] | None, listed: list[dict[str, Any]], current: str | None) -> dict[str, Any]:
    if option is not None:
        listed = [present({"id": one["value"], **_words(one, "name", "description")}) for one in option["options"]]
    return {"available": listed, "current": current}


# -- the wire's shapes


def _choices(told: Any, key: str) -> list[dict[str, Any]]:
    found = ({"id": non_empty(one.get(key)), **_words(one, "name", "description")} for one in items(told))
    return [present(one) for one in found if one["id"]]


def _words(told: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: text(told.get(key)) for key in keys}


def _options(told: Any) -> list[dict[str, Any]]:
    found = []
    for option in items(told):
        name = non_empty(option.get("configId")) or non_empty(option.get("id"))
        if name is None:
            continue
        kind = non_empty(option.get("type")) or "select"
        about = present({"id": name, **_words(option, "name", "description", "category"), "type": kind})
        value = option.get("currentValue")
        if isinstance(value, bool | str):
            about["value"] = value
        found.append(about | ({"options": _values(option.get("options"))} if kind == "select" else {"options": []}))
    return found


def _values(told: Any, group: str | None = None) -> list[dict[str, Any]]:
    """Flat, or in groups."""
    found: list[dict[str, Any]] = []
    for value in items(told):
        if isinstance(value.get("options"), list):
            found += _values(value["options"], text(value.get("name")))
        elif (key := text(value.get("value"))) is not None:
            found.append({"value": key, **present({**_words(value, "name", "description"), "group": group})})
    return found


def _commands(told: Any) -> list[dict[str, Any]]:
    found = []
    for command in items(told):
        hint = text(obj(command.get("input")).get("hint"))
        found.append({**_words(command, "name", "description"), "hint": hint})
    return [present(command) for command in found if command["name"]]


_Read = tuple[dict[str, Any], Fact]


def _mode(update: dict[str, Any]) -> _Read | None:
    # The specification's own example calls it `modeId`.
    mode = non_empty(update.get("currentModeId")) or non_empty(update.get("modeId"))
    return None if mode is None else ({"mode": mode}, ("session.mode", {"mode": mode}))


def _config(update: dict[str, Any]) -> _Read | None:
    if not isinstance(update.get("configOptions"), list):
        return None
    options = _options(update["configOptions"])
    return {"options": options}, ("session.config", {"config": options})


def _command_list(update: dict[str, Any]) -> _Read | None:
    if not isinstance(update.get("availableCommands"), list):
        return None
    commands = _commands(update["availableCommands"])
    return {"commands": commands}, ("session.commands", {"commands": commands})


def _info(update: dict[str, Any]) -> _Read | None:
    """Absent: unchanged. Null: cleared."""
    names = {"title": "title", "updatedAt": "updated_at"}
    good = {key: update[key] for key in names if key in update and isinstance(update[key], str | None)}
    return ({names[key]: value for key, value in good.items()}, ("session.info", good)) if good else None


def _usage(update: dict[str, Any]) -> _Read | None:
    cost = obj(update.get("cost"))
    amount = cost.get("amount")
    money = isinstance(amount, int | float) and not isinstance(amount, bool)
    told = present(
        {
            "used": count(update.get("used")),
            "size": count(update.get("size")),
            "cost": present({"amount": amount, "currency": text(cost.get("currency"))}) if money else None,
        }
    )
    return ({"usage": told}, ("session.usage", told)) if told else None


READERS = {
    "current_mode_update": _mode,
    "config_option_update": _config,
    "available_commands_update": _command_list,
    "session_info_update": _info,
    "usage_update": _usage,
}
