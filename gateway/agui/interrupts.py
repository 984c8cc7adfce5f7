"""Checks of the interrupts and client tool calls that an agent's code yields.

In: the contents of `InterruptRequested` and `ClientToolsCalled`, which an author may have filled in wrongly. Out: the
same, or `AgentFault`. A mistake found later would leave the turn waiting for an answer that no client is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gateway.errors import AgentFault
from gateway.events import ClientToolCall, Interrupt


def check_interrupts(value: Any) -> Sequence[Interrupt]:
    is_list = isinstance(value, tuple | list) and value
    if not is_list or not all(isinstance(interrupt, Interrupt) for interrupt in value):
        raise AgentFault(
            "InterruptRequested takes one interrupt or more, as a tuple: InterruptRequested((Interrupt(…),))"
        )
    for interrupt in value:
        if not isinstance(interrupt.expires_in, int | float | None):
            detail = f"the interrupt {interrupt.id!r:.80} expires in {interrupt.expires_in!r:.40}: not seconds"
            raise AgentFault(detail)
    interrupts: Sequence[Interrupt] = value
    return interrupts


def count_native_interrupts(event: Any) -> int:
    """How many interrupts the `RUN_FINISHED` of an agent that speaks AG-UI has, before it is validated; 0 for anything
    else."""
    if not isinstance(event, dict) or event.get("type") != "RUN_FINISHED":
        return 0
    outcome = event.get("outcome")
    interrupts = outcome.get("interrupts") if isinstance(outcome, dict) else None
    return len(interrupts) if isinstance(interrupts, list) else 0


def check_client_calls(value: Any) -> Sequence[ClientToolCall]:
    is_list = isinstance(value, tuple | list) and value
    if not is_list or not all(isinstance(call, ClientToolCall) and isinstance(call.id, str) for call in value):
        raise AgentFault(
            "ClientToolsCalled takes one call or more, as a tuple: ClientToolsCalled((ClientToolCall(…),))"
        )
    for call in value:
        if not isinstance(call.expires_in, int | float | None):
            raise AgentFault(f"the call {call.id!r:.80} expires in {call.expires_in!r:.40}: not seconds")
    calls: Sequence[ClientToolCall] = value
    return calls
