"""Feeds without end.

Incident: the events of threads could be followed by any number of readers. With 3,000 of them a second client waited
821 ms instead of 7 for a small request: every event made each reader read the store for itself, all at once.
Attack: as many feeds as one principal gets, all of one thread, on which events come.
Promise: there is a bound for one principal and one for all, and a second client hardly notices.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.attacks.greedy_principals import GREEDY, OTHER, SSE, assert_limit, open_gateway, run, seconds_of
from tests.support.gateway import Gateway
from tests.web.problem import problem_in
from tests.web.raw import Connection, request

FEEDS = 500
PATH = "/agents/patient/threads/busy"


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with open_gateway(tmp_path_factory.mktemp("feeds"), max_thread_feeds_per_principal=FEEDS) as running:
        yield running


def test_the_feeds_of_one_principal_are_bounded_and_another_hardly_notices(gateway: Gateway) -> None:
    alone = seconds_of(gateway, OTHER, 9)
    head = [f"Authorization: {GREEDY['authorization']}", "Accept: text/event-stream"]
    with ExitStack() as stack:
        feeds = [stack.enter_context(Connection(gateway)) for _ in range(FEEDS)]
        for feed in feeds:
            feed.send(request(f"{PATH}/events", headers=head))
        for feed in feeds:
            feed.until(b"200 OK")
        assert_limit(
            gateway.client.get(f"{PATH}/events", headers=GREEDY | SSE), "max_thread_feeds_per_principal", FEEDS
        )
        times = []
        for number in range(9):
            body = {"message": {"content": f"message {number}"}}
            assert gateway.client.post(f"{PATH}/messages", json=body, headers=GREEDY).status_code == 202
            started = time.perf_counter()
            assert run(gateway, OTHER).status_code == 200
            times.append(time.perf_counter() - started)
        for feed in feeds:  # nobody is left out
            feed.until(b"message 8")
    # The readers of these feeds are this very process: the bound is for what the gateway makes others wait.
    assert sorted(times)[4] < max(10 * alone, 0.5)


def test_the_feeds_of_all_are_bounded(tmp_path: Path) -> None:
    with open_gateway(tmp_path, max_thread_feeds=4, max_thread_feeds_per_principal=4) as gateway, ExitStack() as stack:
        for _ in range(4):
            feed = stack.enter_context(gateway.client.stream("GET", f"{PATH}/events", headers=GREEDY | SSE))
            assert feed.status_code == 200
        response = gateway.client.get(f"{PATH}/events", headers=OTHER | SSE)
        assert "max_thread_feeds" in problem_in(response, 503, "GATEWAY_BUSY")["detail"]
