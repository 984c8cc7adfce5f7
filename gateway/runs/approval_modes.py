"""Whether an agent acts without a question in a run: by the run's own options, or by what its session is set to.

In: the agent's definition, the options, what the thread's open session states of itself or is set to when it opens, and
a setting that is about to be changed. Out: a boolean. Pure. A session that states no mode counts as one that asks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gateway.capability_paths import CONFIG, MODE, PERMISSION_MODE
from gateway.catalog.definition import AgentDefinition
from gateway.turn import Options

OFF = (False, None, "", "false", "off", "no", "disabled")
"""Values of a setting that leave questions on."""
MODE_CATEGORY = "mode"


@dataclass(frozen=True, slots=True)
class SettingChange:
    """What a session is set to between runs. Both None: nothing."""

    mode: str | None = None
    option: str | None = None
    """The id of a config option."""
    value: str | bool | None = None


def is_unattended(
    definition: AgentDefinition,
    options: Options,
    session_layer: Mapping[str, Any],
    change: SettingChange | None = None,
    stored_config: Mapping[str, str | bool] | None = None,
) -> bool:
    """`session_layer`: of the thread's open session, by dotted path; empty if none is open. `stored_config`: the config
    options that a session is set to when it is opened."""
    if options.approvals == "auto":
        return True
    config: dict[str, Mapping[str, Any]]
    config = {name: {"id": name, "value": value} for name, value in (stored_config or {}).items()}
    config |= {option["id"]: option for option in session_layer.get(CONFIG, ())}
    stated = {session_layer.get(MODE), session_layer.get(PERMISSION_MODE)}
    named = options.mode
    if change is not None:
        named = change.mode or named
        if change.option is not None:
            option = {**config.get(change.option, {"id": change.option}), "value": change.value}
            config[change.option] = option
            if change.value in definition.auto_approve_modes or option.get("category") == MODE_CATEGORY:
                named = str(change.value)
    modes = stated if named is None else {named}
    return not modes.isdisjoint(definition.auto_approve_modes) or any(
        option["id"] in definition.auto_approve_config and option.get("value") not in OFF for option in config.values()
    )
