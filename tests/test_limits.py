"""Limits of one principal: counted, released, refilled, and each one documented."""

from __future__ import annotations

import pytest

from gateway.errors import Busy, LimitReached
from gateway.identity import LOCAL
from gateway.limits import BODY_BYTES, BYTES_PER_REQUEST, LIMITS, RUNS, SOCKETS, Limit, PrincipalLimits
from gateway.settings import Settings
from gateway.web.login_attempts import LoginAttempts, network_of
from tests.support.project import ROOT


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_share_is_a_quarter_and_local_has_the_bound_for_all() -> None:
    limits = PrincipalLimits(Settings(max_runs=8))
    assert (limits.value(RUNS, "ann"), limits.value(RUNS, LOCAL)) == (2, None)
    limits = PrincipalLimits(Settings(max_runs=8, max_runs_per_principal=5))
    assert limits.value(RUNS, "ann") == limits.value(RUNS, LOCAL) == 5


def test_an_amount_is_held_until_it_is_released_once() -> None:
    limits = PrincipalLimits(Settings(max_runs_per_principal=2))
    holds = [limits.acquire(RUNS, "ann") for _ in range(2)]
    with pytest.raises(LimitReached) as refused:
        limits.acquire(RUNS, "ann")
    assert refused.value.problem()["limit"] == "max_runs_per_principal"
    limits.acquire(RUNS, "bob")
    for _ in range(2):
        holds[0].release()
    with limits.acquire(RUNS, "ann"):
        assert limits.held(RUNS, "ann") == 2
    assert limits.held(RUNS, "ann") == 1


def test_a_refused_addition_keeps_what_was_held() -> None:
    limits = PrincipalLimits(Settings(max_body_bytes_per_principal=10))
    with limits.hold(BODY_BYTES, "ann") as hold:
        hold.add(8)
        with pytest.raises(LimitReached):
            hold.add(3)
        assert limits.held(BODY_BYTES, "ann") == 8
    assert limits.held(BODY_BYTES, "ann") == 0


def test_the_bound_for_all_is_busy() -> None:
    limits = PrincipalLimits(Settings(max_sockets=4))
    for name in ("ann", "bob", "eve", "dan"):
        limits.acquire(SOCKETS, name)
    with pytest.raises(Busy, match="max_sockets"):
        limits.acquire(SOCKETS, "fay")


def test_a_rate_has_a_burst_and_comes_back() -> None:
    clock = Clock()
    limits = PrincipalLimits(Settings(max_requests_per_second=2, max_request_burst=4), clock)
    for _ in range(4):
        limits.spend_request("ann")
    with pytest.raises(LimitReached) as refused:
        limits.spend_request("ann")
    assert refused.value.retry_after == 0.5
    limits.spend_request("bob")
    clock.now = 0.5
    limits.spend_request("ann")
    with pytest.raises(LimitReached):
        limits.spend_request("ann", BYTES_PER_REQUEST)


def test_bytes_count_as_requests_and_nothing_costs_nothing() -> None:
    limits = PrincipalLimits(Settings(max_requests_per_second=1, max_request_burst=2), Clock())
    limits.spend_request("ann", 0)
    limits.spend_request("ann", 2 * BYTES_PER_REQUEST)
    with pytest.raises(LimitReached):
        limits.spend_request("ann")


def test_without_tokens_there_is_no_rate_unless_it_is_set() -> None:
    limits = PrincipalLimits(Settings(max_request_burst=1), Clock())
    for _ in range(100):
        limits.spend_request(LOCAL)


def test_one_ipv6_client_has_one_network() -> None:
    assert network_of("2001:db8::1") == network_of("2001:db8::ffff") != network_of("2001:db8:1::1")
    assert network_of("::ffff:10.0.0.1") == network_of("10.0.0.1") != network_of("10.0.0.2")
    assert network_of("") == ""


def test_a_quiet_minute_forgives_wrong_tokens() -> None:
    clock = Clock()
    attempts = LoginAttempts(Settings(max_failed_logins=2), clock)
    for _ in range(2):
        attempts.reject("10.0.0.1")
    with pytest.raises(LimitReached):
        attempts.reject("10.0.0.1")
    with pytest.raises(LimitReached):
        attempts.accept("10.0.0.1", "ann")
    attempts.accept("10.0.0.2", "ann")
    clock.now = 60.0
    attempts.accept("10.0.0.1", "ann")


@pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: limit.setting)
def test_every_limit_is_a_setting_and_documented(limit: Limit) -> None:
    text = (ROOT / "docs" / "operations.md").read_text("utf-8")
    for name in (limit.setting, limit.total):
        assert name in Settings.model_fields
        assert f"`{name}`" in text


def test_every_setting_of_a_principal_is_in_the_table() -> None:
    text = (ROOT / "docs" / "operations.md").read_text("utf-8")
    names = [name for name in Settings.model_fields if name.endswith(("_per_principal", "_per_day", "_per_second"))]
    assert [name for name in names if f"`{name}`" not in text] == []
