"""Requests that the gateway sent to an agent, each with whatever reads its answer.

In: a reader for each request, and the ids of the answers as the agent sent them. Out: request ids, and the reader of an
answer. An answer to an unknown request, a second answer and an id of any other JSON type have no reader. Never: IO, or
the format of a request; the dialect writes it.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

Reader = TypeVar("Reader")

SEPARATOR = ":"


class RequestTable(Generic[Reader]):
    """The requests of one conversation that have no answer yet. `Reader` is what the dialect needs to read the answer:
    a function, or the method's name.

    Ids are `<tag><separator><number>`; the tag names the session among those that share a process. Numbers are never
    used twice, not even after a new process has begun, so a late answer reaches no other request.
    """

    def __init__(self, tag: str = "s", separator: str = SEPARATOR) -> None:
        self._tag = tag
        self._separator = separator
        self._last_number = 0
        self._readers: dict[str, Reader] = {}

    def __len__(self) -> int:
        return len(self._readers)

    def begin(self, tag: str) -> None:
        """A new process: requests to the one before have no answer any more."""
        self._tag = tag
        self._readers.clear()

    def next_number(self) -> int:
        """A number that no request has: for a ticket that is no request."""
        self._last_number += 1
        return self._last_number

    def new_id(self) -> str:
        return f"{self._tag}{self._separator}{self.next_number()}"

    def add(self, reader: Reader) -> str:
        """The id to send the request with."""
        request_id = self.new_id()
        self._readers[request_id] = reader
        return request_id

    def get(self, request_id: Any) -> Reader | None:
        """The reader of an answer that is not the last one: the request stays open."""
        return self._readers.get(request_id) if isinstance(request_id, str) else None

    def pop(self, request_id: Any) -> Reader | None:
        """The reader of the answer. None: unknown, answered already, or sent to an earlier process."""
        return self._readers.pop(request_id, None) if isinstance(request_id, str) else None

    def drain(self) -> list[tuple[str, Reader]]:
        """All open requests, oldest first, when the process has ended: they will have no answer."""
        open_requests = list(self._readers.items())
        self._readers.clear()
        return open_requests


def tag_of(request_id: Any, separator: str = SEPARATOR) -> str | None:
    """The tag in an id that `RequestTable` gave: whose answer a message is. None: not such an id."""
    if not isinstance(request_id, str):
        return None
    return request_id.rpartition(separator)[0] or None
