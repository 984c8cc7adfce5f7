"""A session of an ACP agent has one listener."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.drivers.acp.connection import Connection
from gateway.errors import Conflict


class Listener:
    """As much of a session as attaching needs."""

    def __init__(self, *, is_alive: bool = True) -> None:
        self.is_alive = is_alive


def attach(connection: Connection, listener: Any) -> None:
    connection.attach("s1", listener)


@pytest.fixture
def connection() -> Connection:
    unused: Any = None
    return Connection(unused, unused)


def test_a_second_listener_is_a_conflict(connection: Connection) -> None:
    first: Any = Listener()
    attach(connection, first)
    with pytest.raises(Conflict) as refused:
        attach(connection, Listener())
    assert refused.value.code == "SESSION_OPEN"
    assert connection._find_session("s1") is first


def test_a_listener_may_attach_again(connection: Connection) -> None:
    first: Any = Listener()
    attach(connection, first)
    attach(connection, first)


def test_a_listener_that_has_given_up_is_replaced(connection: Connection) -> None:
    """The thread's next run resumes the session while the old one is being freed."""
    attach(connection, Listener(is_alive=False))
    second: Any = Listener()
    attach(connection, second)
    assert connection._find_session("s1") is second
