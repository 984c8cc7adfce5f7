"""A mode, a model or an option to set → the request that sets it.

In: the session's state and the value. Out: the method and params, of a config option if there is one, else of the older
API that the session has. Raises `NotCapable` with what is missing and the values that are known.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gateway.capability_paths import CONFIG, MODELS, MODES
from gateway.errors import NotCapable
from gateway.wire.acp.session_state import SessionState

MethodCall = tuple[str, dict[str, Any]]
"""The method and its params."""


def set_mode_request(state: SessionState, session_id: str, mode: str) -> MethodCall:
    if (option := _option_with_value(state, "mode", mode)) is not None:
        return _set_option(state, session_id, option, mode)
    if mode in _ids(state.modes):
        return "session/set_mode", {"sessionId": session_id, "modeId": mode}
    raise _refusal("mode", mode, MODES, [*_values_of_category(state, "mode"), *_ids(state.modes)])


def set_model_request(state: SessionState, session_id: str, model: str, *, is_open: bool = False) -> MethodCall:
    """`is_open`: the agent also takes models that the session does not list."""
    if (option := _option_with_value(state, "model", model)) is not None:
        return _set_option(state, session_id, option, model)
    if model in _ids(state.models) or (is_open and state.models):
        return "session/set_model", {"sessionId": session_id, "modelId": model}
    raise _refusal("model", model, MODELS, [*_values_of_category(state, "model"), *_ids(state.models)])


def set_config_request(state: SessionState, session_id: str, config: str, value: str | bool) -> MethodCall:
    """`config`: an option's id, or a category if no option has that id (`thought_level`)."""
    by_id = [option for option in state.options if option["id"] == config]
    by_category = [option for option in state.options if option.get("category") == config]
    option = next(iter(by_id or by_category), None)
    if option is None:
        raise _refusal("config option", config, CONFIG, [option["id"] for option in state.options])
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
    return _set_option(state, session_id, option, value)


def _set_option(state: SessionState, session_id: str, option: dict[str, Any], value: str | bool) -> MethodCall:
    params: dict[str, Any] = {"sessionId": session_id, "configId": option["id"]}
    if isinstance(value, bool):
        params["type"] = "boolean"
    elif state.version >= 2:
        params["type"] = "id"
    return "session/set_config_option", params | {"value": value}


def _option_with_value(state: SessionState, category: str, value: str) -> dict[str, Any] | None:
    options = (option for option in state.options if option.get("category") == category)
    return next((option for option in options if value in _values(option)), None)


def _values(option: dict[str, Any]) -> list[str]:
    return [value["value"] for value in option["options"]]


def _values_of_category(state: SessionState, category: str) -> list[str]:
    return [value for option in state.options if option.get("category") == category for value in _values(option)]


def _ids(choices: list[dict[str, Any]]) -> list[str]:
    return [choice["id"] for choice in choices]


def _refusal(noun: str, value: object, capability: str, known: Iterable[str]) -> NotCapable:
    values = list(dict.fromkeys(known))
    has = f"it has: {', '.join(values)}" if values else "it offers none"
    return NotCapable(
        f"the session has no {noun} {value!r}; {has}", capability=capability, source="session (ACP)", known=values
    )
