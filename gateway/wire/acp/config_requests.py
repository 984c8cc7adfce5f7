"""A wish for a mode, a model or an option → the request that fulfils it.

In: the session's facts and the wish. Out: (method, params), by a config option where there is one, else by the older
API that the session has. Raises `NotCapable` with what is missing and the values that are known.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gateway.capability_paths import CONFIG, MODELS, MODES
from gateway.errors import NotCapable
from gateway.wire.acp.session_state import SessionState

Call = tuple[str, dict[str, Any]]


def set_mode_request(facts: SessionState, session_id: str, mode: str) -> Call:
    if (option := _holding(facts, "mode", mode)) is not None:
        return _config(facts, session_id, option, mode)
    if mode in _ids(facts.modes):
        return "session/set_mode", {"sessionId": session_id, "modeId": mode}
    raise _refusal("mode", mode, MODES, [*_of_category(facts, "mode"), *_ids(facts.modes)])


def set_model_request(facts: SessionState, session_id: str, model: str) -> Call:
    if (option := _holding(facts, "model", model)) is not None:
        return _config(facts, session_id, option, model)
    if model in _ids(facts.models):
        return "session/set_model", {"sessionId": session_id, "modelId": model}
    raise _refusal("model", model, MODELS, [*_of_category(facts, "model"), *_ids(facts.models)])


def set_config_request(facts: SessionState, session_id: str, config: str, value: str | bool) -> Call:
    """`config`: an option's id, or its category where no id is called so (`thought_level`)."""
    named = [option for option in facts.options if option["id"] == config]
    option = next(iter(named or [option for option in facts.options if option.get("category") == config]), None)
    if option is None:
        raise _refusal("config option", config, CONFIG, [option["id"] for option in facts.options])
    match option["type"]:
        case "boolean" if isinstance(value, bool):
            pass
        case "boolean":
            raise _refusal(f"value for {option['id']!r}", value, CONFIG, ["true", "false"])
        case "select" if value in _values(option):
            pass
        case "select":
            raise _refusal(f"value for {option['id']!r}", value, CONFIG, _values(option))
        case kind:
            raise _refusal(f"way to set an option of type {kind!r}", option["id"], CONFIG, [])
    return _config(facts, session_id, option, value)


def _config(facts: SessionState, session_id: str, option: dict[str, Any], value: str | bool) -> Call:
    params: dict[str, Any] = {"sessionId": session_id, "configId": option["id"]}
    if isinstance(value, bool):
        params["type"] = "boolean"
    elif facts.version >= 2:
        params["type"] = "id"
    return "session/set_config_option", params | {"value": value}


def _holding(facts: SessionState, category: str, value: str) -> dict[str, Any] | None:
    options = (option for option in facts.options if option.get("category") == category)
    return next((option for option in options if value in _values(option)), None)


def _values(option: dict[str, Any]) -> list[str]:
    return [value["value"] for value in option["options"]]


def _of_category(facts: SessionState, category: str) -> list[str]:
    return [value for option in facts.options if option.get("category") == category for value in _values(option)]


def _ids(choices: list[dict[str, Any]]) -> list[str]:
    return [choice["id"] for choice in choices]


def _refusal(noun: str, wish: object, capability: str, known: Iterable[str]) -> NotCapable:
    values = list(dict.fromkeys(known))
    has = f"it has: {', '.join(values)}" if values else "it offers none"
    return NotCapable(
        f"the session has no {noun} {wish!r}; {has}", capability=capability, source="session (ACP)", known=values
    )
