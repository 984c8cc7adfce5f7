"""The mode of a thread with an in-process agent, and the modes it may be set to.

In: the modes of a definition. Out: the session layer, and the controls that set the mode; what a mode changes, the
definition states. The function gets the mode with every turn, so nothing else is kept: the session id of such a thread
is its mode.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from gateway.capability_paths import MODE, MODES
from gateway.catalog.sections import Mode
from gateway.errors import NotCapable
from gateway.events import Layer


class ModeControls:
    """Of one thread (`drivers.session_base.StatefulControls`)."""

    def __init__(self, modes: Sequence[Mode], known: str | None) -> None:
        """`known`: the mode when the session was last open."""
        self._modes = {mode.id: mode for mode in modes}
        self._current = known if known in self._modes else next(iter(self._modes))

    @property
    def session_id(self) -> str:
        """The current mode."""
        return self._current

    @property
    def session_layer(self) -> Layer:
        modes = [mode.to_json() for mode in self._modes.values()]
        return {MODE: self._current, MODES: modes}

    async def set_mode(self, mode: str) -> None:
        if mode not in self._modes:
            _refuse(f"there is no mode {mode!r}. Known: {', '.join(self._modes)}.", MODES)
        self._current = mode

    async def set_model(self, model: str) -> None:
        _refuse("a function in the gateway's own process has no models to choose from", "model")

    async def set_config(self, option: str, value: str | bool) -> None:
        _refuse(f"there is no option {option!r}: a function in the gateway's own process has only a mode", "config")

    async def fork(self) -> str:
        """The function gets the whole conversation with every turn: a copy needs only the mode."""
        return self._current

    async def delete(self) -> None:
        return None  # nothing is kept

    async def call(self, method: str, params: Mapping[str, Any]) -> Any:
        _refuse(f"{method}: only ACP agents have further methods; this one is a function", method)


def _refuse(detail: str, capability: str) -> NoReturn:
    raise NotCapable(detail, capability=capability, source="profile")
