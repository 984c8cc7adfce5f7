"""A turn of a session whose MCP servers have secrets: masked in the errors and the raw messages of its agent.

In: the events of a turn. Out: the same, without the secrets in what the gateway itself writes down: `RAW` messages,
warnings, errors with the end of the agent's stderr. Texts of the model and results of tools are passed on as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from gateway.agui.option_secrets import SecretMask
from gateway.drivers import LiveTurn
from gateway.errors import GatewayError
from gateway.events import Event, Raw, TurnFailed, Warning
from gateway.runs.turn_wrapper import TurnWrapper
from gateway.turn import Answer


class MaskedTurn(TurnWrapper):
    def __init__(self, live: LiveTurn, mask: SecretMask) -> None:
        super().__init__(live)
        self._mask = mask

    async def next(self) -> list[Event]:
        with masked_errors(self._mask):
            return [self._mask_event(event) for event in await self._live.next()]

    async def answer(self, answers: Mapping[str, Answer]) -> None:
        with masked_errors(self._mask):
            await self._live.answer(answers)

    def _mask_event(self, event: Event) -> Event:
        match event:
            case Raw():
                return replace(event, event=self._mask.in_json(event.event))
            case TurnFailed():
                return replace(event, message=self._mask.in_text(event.message))
            case Warning():
                detail = {key: self._mask.in_json(value) for key, value in event.detail.items()}
                return replace(event, message=self._mask.in_text(event.message), detail=detail)
            case _:
                return event


@contextmanager
def masked_errors(mask: SecretMask) -> Iterator[None]:
    """Masks the secrets in an error that is raised inside."""
    try:
        yield
    except GatewayError as exc:
        exc.detail = mask.in_text(exc.detail)
        exc.args = (exc.detail,)
        exc.extra.update({key: mask.in_json(value) for key, value in exc.extra.items()})
        raise
