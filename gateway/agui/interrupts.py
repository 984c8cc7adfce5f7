"""What an agent waits for, as it was given: held against what it must be before anybody waits.

In: whatever stands in `Asked` and `Called`, which an author may have filled in wrongly. Out: the same, or `AgentFault`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gateway.errors import AgentFault
from gateway.events import ClientCall, Question


def questions_of(given: Any) -> Sequence[Question]:
    """An author's mistake here would leave the turn waiting for an answer that nobody is asked for."""
    listed = isinstance(given, tuple | list) and given
    if not listed or not all(isinstance(question, Question) for question in given):
        raise AgentFault("Asked takes one question or more, as a tuple: Asked((Question(…),))")
    for question in given:
        if not isinstance(question.expires_in, int | float | None):
            raise AgentFault(f"the question {question.id!r:.80} expires in {question.expires_in!r:.40}: not seconds")
    found: Sequence[Question] = given
    return found


def calls_of(given: Any) -> Sequence[ClientCall]:
    listed = isinstance(given, tuple | list) and given
    if not listed or not all(isinstance(call, ClientCall) and isinstance(call.id, str) for call in given):
        raise AgentFault("Called takes one call or more, as a tuple: Called((ClientCall(…),))")
    for call in given:
        if not isinstance(call.expires_in, int | float | None):
            raise AgentFault(f"the call {call.id!r:.80} expires in {call.expires_in!r:.40}: not seconds")
    found: Sequence[ClientCall] = given
    return found
