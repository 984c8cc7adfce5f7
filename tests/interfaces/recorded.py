"""What real agents reported of their sessions: every recording, played once."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from gateway.wire.acp.session_state import session_layer
from tests.wire.acp.replay import NAMES, replay_transcript
from tests.wire.dialects.recordings import all_recordings
from tests.wire.dialects.replay import read_turn

ACP = "ACP"


class Recorded(NamedTuple):
    """By dotted path."""

    who: str
    """The dialect, or that it was an ACP agent."""
    case: str
    handshake_layer: dict[str, Any]
    """What holds for every session of the agent."""
    facts: dict[str, Any]


@cache
def recorded() -> tuple[Recorded, ...]:
    return (*_dialects(), *_acp())


def _dialects() -> Iterator[Recorded]:
    for case, recording in all_recordings().items():
        dialect, messages = recording()
        read_turn(dialect, [messages])
        yield Recorded(dialect.name, case, dialect.handshake_layer, dialect.session_layer)


def _acp() -> Iterator[Recorded]:
    for name in NAMES:
        for session in replay_transcript(name).sessions.values():
            yield Recorded(ACP, name, {}, session_layer(session.reader.state))


def tellers(path: str) -> list[str]:
    """Whose sessions told this."""
    return sorted(
        {report.who for report in recorded() if path in report.handshake_layer or path in report.facts}, key=str.lower
    )
