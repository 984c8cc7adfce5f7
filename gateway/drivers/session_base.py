"""What the sessions of agents without a process of their own share (`drivers.python`, `drivers.remote`).

Such an agent gets the whole conversation with every turn. All that can outlive a turn is what the session's controls
set; a session without controls has nothing to keep, and nothing to resume.
"""

from __future__ import annotations

from typing import Generic, Protocol, TypeVar

from gateway.drivers.base import Controls
from gateway.events import Layer


class StatefulControls(Controls, Protocol):
    """Controls that hold the session's whole state."""

    @property
    def session_id(self) -> str:
        """What the session is resumed by."""

    @property
    def session_layer(self) -> Layer: ...


AnyControls = TypeVar("AnyControls", bound=StatefulControls)


class ControlledSession(Generic[AnyControls]):
    """All of `drivers.base.Session` except `start`."""

    is_alive = True

    def __init__(self, controls: AnyControls | None = None) -> None:
        self._controls = controls

    @property
    def controls(self) -> AnyControls | None:
        return self._controls

    @property
    def id(self) -> str | None:
        return None if self._controls is None else self._controls.session_id

    @property
    def reusable(self) -> bool:
        return self._controls is not None

    @property
    def session_layer(self) -> Layer:
        return {} if self._controls is None else self._controls.session_layer

    async def aclose(self) -> None:
        return None
