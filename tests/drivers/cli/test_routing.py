"""Whose a message is, on a process that serves many sessions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import orjson

from gateway.drivers.cli.connection import Connection
from gateway.errors import AgentFault
from gateway.wire.dialects import Dialect


class Named(Dialect):
    name = "named"

    @classmethod
    def read_owner(cls, message: bytes) -> str | None:
        owner: str | None = orjson.loads(message)
        return owner


class Knowing(Named):
    has_unlisted_sessions = True


class Session:
    def __init__(self, dialect: type[Dialect], number: int) -> None:
        self.dialect, self.tag = dialect(), f"tag{number}"
        self.dialect.session_id = f"session{number}"

    def heard(self, messages: Sequence[bytes]) -> None: ...

    async def room(self) -> None: ...

    def lost(self, error: AgentFault | None) -> None: ...


def routed(dialect: type[Dialect], *owners: str | None) -> list[list[Any]]:
    """Who of two sessions gets which."""
    nobody: Any = None
    link = Connection(cast(Any, nobody), dialect, cast(Any, nobody))
    sessions = [Session(dialect, number) for number in (1, 2)]
    for session in sessions:
        link.attach(session)
    told = dict(link._routed([orjson.dumps(owner) for owner in owners]))
    return [[orjson.loads(message) for message in told.get(session, [])] for session in sessions]


def test_a_message_is_for_the_session_that_it_names_by_id_or_tag() -> None:
    assert routed(Named, "session1", "tag2", "tag1") == [["session1", "tag1"], ["tag2"]]


def test_a_message_that_names_nobody_is_for_everybody() -> None:
    assert routed(Named, None) == [[None], [None]]


def test_a_message_for_somebody_else_is_for_nobody() -> None:
    assert routed(Named, "session3") == [[], []]


def test_a_dialect_that_knows_its_own_is_shown_what_is_for_somebody_else() -> None:
    """The sessions of subagents are known to nobody but the dialect."""
    assert routed(Knowing, "session3", "session1") == [["session3", "session1"], ["session3"]]
