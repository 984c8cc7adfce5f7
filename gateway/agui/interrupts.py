"""What an agent waits for, as it was given: held against what it must be before anybody waits.

In: whatever stands in `Asked` and `ClientToolsCalled`, which an author may have filled in wrongly. Out: the same, or
`AgentFault`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gateway.errors import AgentFault
from gateway.events import ClientToolCall, Interrupt


def questions_of(given: Any) -> Sequence[Interrupt]:
    """An author's mistake here would leave the turn waiting for an answer that nobody is asked for."""
    listed = isinstance(given, tuple | list) and given
    if not listed or not all(isinstance(question, Interrupt) for question in given):
        raise AgentFault("Asked takes one question or more, as a tuple: Asked((Question(…),))")
    for question in given:
        if not isinstance(question.expires_in, int | float | None):
            raise AgentFault(f"the question {question.id!r:.80} expires in {question.expires_in!r:.40}: not seconds")
    found: Sequence[Interrupt] = given
    return found


def calls_of(given: Any) -> Sequence[ClientToolCall]:
    listed = isinstance(given, tuple | list) and given
    if not listed or not all(isinstance(call, ClientToolCall) and isinstance(call.id, str) for call in given):
        raise AgentFault("Called takes one call or more, as a tuple: Called((ClientCall(…),))")
    for call in given:
        if not isinstance(call.expires_in, int | float | None):
            raise AgentFault(f"the call {call.id!r:.80} expires in {call.expires_in!r:.40}: not seconds")
    found: Sequence[ClientToolCall] = given
    return found
