"""The mode that a thread with an agent of this process is in: what it may be set to, and what the snapshot says of it.

In: the modes of a definition. Out: the session layer, and the controls that set it. The function itself is told its
mode with every turn, so there is nothing else to keep: a thread's session id is the mode to come back to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from gateway.capability_paths import MODE, MODES, flatten
from gateway.catalog.sections import Mode
from gateway.errors import NotCapable
from gateway.events import Layer


class ModeControls:
    """Of one thread. Its methods are `drivers.base.Controls`."""

    def __init__(self, modes: Sequence[Mode], known: str | None) -> None:
        """`known`: what it was in when it was last open."""
        self._modes = {mode.id: mode for mode in modes}
        self.current = known if known in self._modes else next(iter(self._modes))

    @property
    def session_layer(self) -> Layer:
        offered = [mode.to_json() for mode in self._modes.values()]
        return {MODE: self.current, MODES: offered, **flatten(self._modes[self.current].capabilities)}

    async def set_mode(self, mode: str) -> None:
        if mode not in self._modes:
            _refuse(f"there is no mode {mode!r}. Known: {', '.join(self._modes)}.", MODES)
        self.current = mode

    async def set_model(self, model: str) -> None:
        _refuse("a function in the gateway's own process has no models to choose from", "model")

    async def set_config(self, option: str, value: str | bool) -> None:
        _refuse(f"there is no option {option!r}: a function in the gateway's own process has a mode only", "config")

    async def fork(self) -> str:
        """The function is given the whole conversation with every turn: a copy needs no more than the mode."""
        return self.current

    async def delete(self) -> None:
        return None  # it keeps nothing

    async def call(self, method: str, params: Mapping[str, Any]) -> Any:
        _refuse(f"{method}: only an ACP agent can be called so; this one is a function", method)


def _refuse(detail: str, capability: str) -> NoReturn:
    raise NotCapable(detail, capability=capability, source="profile")
