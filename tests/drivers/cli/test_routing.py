"""Which session gets a message, on a process that serves many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson
import pytest

from gateway.drivers.cli.connection import Connection
from gateway.errors import AgentFault, Conflict
from gateway.wire.dialects import Dialect


class Named(Dialect):
    name = "named"

    @classmethod
    def read_owner(cls, message: bytes) -> str | None:
        owner: str | None = orjson.loads(message)
        return owner


class NamedWithSubagents(Named):
    has_unlisted_sessions = True


class Session:
    def __init__(self, dialect: type[Dialect], number: int) -> None:
        self.dialect = dialect()
        self.tag = f"tag{number}"
        self.dialect.session_id = f"session{number}"

    def receive(self, messages: Sequence[bytes]) -> None: ...

    async def wait_for_room(self) -> None: ...

    def connection_lost(self, error: AgentFault | None) -> None: ...


def route(dialect: type[Dialect], *owners: str | None) -> list[list[Any]]:
    """The messages that each of two sessions gets."""
    unused: Any = None
    connection = Connection(unused, dialect, unused, {})
    sessions = [Session(dialect, number) for number in (1, 2)]
    for session in sessions:
        connection.attach(session)
    routes = dict(connection._route([orjson.dumps(owner) for owner in owners]))
    return [[orjson.loads(message) for message in routes.get(session, [])] for session in sessions]


def test_a_message_is_for_the_session_that_it_names_by_id_or_tag() -> None:
    assert route(Named, "session1", "tag2", "tag1") == [["session1", "tag1"], ["tag2"]]


def test_a_message_without_an_owner_is_for_every_session() -> None:
    assert route(Named, None) == [[None], [None]]


def test_a_message_for_an_unknown_session_is_for_none() -> None:
    assert route(Named, "session3") == [[], []]


def test_a_dialect_with_subagent_sessions_gets_messages_for_unknown_sessions() -> None:
    """Only the dialect knows the sessions of subagents."""
    assert route(NamedWithSubagents, "session3", "session1") == [["session3", "session1"], ["session3"]]


def test_two_sessions_never_get_the_messages_of_one() -> None:
    unused: Any = None
    connection = Connection(unused, Named, unused, {})
    first, thief = Session(Named, 1), Session(Named, 1)
    connection.attach(first)
    with pytest.raises(Conflict) as refused:
        connection.attach(thief)
    assert refused.value.code == "SESSION_OPEN"
    assert connection._route([orjson.dumps("session1")]) == [(first, [orjson.dumps("session1")])]
    connection.detach(first)
    connection.attach(thief)
