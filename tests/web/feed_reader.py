"""A watcher of the capability feed, as a page is one: server-sent events, one after the other."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import jsonpatch

from tests.support.gateway import Gateway

SSE = {"accept": "text/event-stream"}
LIMIT = 60.0


@dataclass(frozen=True, slots=True)
class FeedItem:
    number: int
    name: str
    data: dict[str, Any]

    @property
    def snapshot(self) -> dict[str, Any]:
        """The capabilities."""
        found: dict[str, Any] = self.data["capabilities"]
        return found

    def follows(self, before: FeedItem) -> bool:
        """It is a later change, and its patch leads to it."""
        patched = jsonpatch.apply_patch(before.snapshot, self.data["patch"])
        return self.name == "change" and self.number > before.number and patched == self.snapshot


@contextmanager
def watching(gateway: Gateway, path: str, **headers: str) -> Iterator[Iterator[FeedItem]]:
    """Left, the connection is closed. Waits have a bound of their own: a feed that is kept alive never times out."""
    with gateway.client.stream("GET", path, headers=SSE | headers) as response:
        assert response.status_code == 200, response.read()
        assert response.headers["content-type"] == "text/event-stream"
        yield events(response)


def events(response: httpx.Response) -> Iterator[FeedItem]:
    fields: dict[str, str] = {}
    until = time.monotonic() + LIMIT
    for line in response.iter_lines():
        assert time.monotonic() < until, f"nothing new within {LIMIT:g} seconds"
        if line and not line.startswith(":"):
            name, _, value = line.partition(": ")
            fields[name] = value
        elif fields:
            yield FeedItem(int(fields["id"]), fields["event"], json.loads(fields["data"]))
            fields, until = {}, time.monotonic() + LIMIT


def until(feed: Iterator[FeedItem], path: str, value: Any) -> FeedItem:
    """The first event in which the leaf has this value: what else changes on the way there is no matter."""
    for items in feed:
        found: Any = items.snapshot
        for key in path.split("."):
            found = found.get(key, {})
        if found == value:
            return items
    raise AssertionError(f"the feed ended before {path} was {value!r}")
