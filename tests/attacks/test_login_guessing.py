"""Tokens are guessed.

Incident: a client could try 625 tokens in a second, and the log said nothing of it.
Attack: wrong tokens without end from one address, then the right one.
Promise: after `max_failed_logins` in a minute the address is refused (429), the right guess included; a client that was
at work from the same address goes on; the log has one line a minute, and no token in it.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from tests.attacks.greedy_principals import GREEDY, OTHER, assert_limit, open_gateway, run
from tests.web.problem import problem_in

LIMIT = 5


def test_guesses_are_bounded_even_the_right_one(tmp_path: Path) -> None:
    with open_gateway(tmp_path, max_failed_logins=LIMIT) as gateway:
        assert run(gateway, OTHER).status_code == 200
        guesses = [{"authorization": f"Bearer guess-{number:016d}"} for number in range(60)]
        responses = [gateway.client.get("/agents", headers=guess) for guess in guesses]
        assert [response.status_code for response in responses[:LIMIT]] == [401] * LIMIT
        refused = [response for response in responses if response.status_code == 429]
        assert len(refused) >= 50
        assert_limit(refused[0], "max_failed_logins", LIMIT)
        assert_limit(gateway.client.get("/agents", headers=GREEDY), "max_failed_logins", LIMIT)
        with pytest.raises(InvalidStatus) as handshake:
            connect(gateway.url.replace("http", "ws") + "/agents/patient/socket", additional_headers=GREEDY)
        assert handshake.value.response.status_code == 429
        # Whoever was there before the guesses is not locked out by them, and neither are health checks.
        assert run(gateway, OTHER).status_code == 200
        assert gateway.client.get("/healthz").status_code == 200
        log = gateway.log.read_text("utf-8")
        assert log.count("wrong token") == 1
        assert "guess-" not in log


def test_a_request_without_a_token_is_no_guess(tmp_path: Path) -> None:
    with open_gateway(tmp_path, max_failed_logins=LIMIT) as gateway:
        for _ in range(3 * LIMIT):
            problem_in(gateway.client.get("/agents"), 401, "UNAUTHORIZED")
        assert run(gateway, GREEDY).status_code == 200
