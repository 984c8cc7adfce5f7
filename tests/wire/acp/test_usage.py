"""Token counts: AG-UI's totals include their parts, whatever the agent's include."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.events import TokenUsage
from gateway.wire.acp.usage import UsageCounter
from tests.agui.streams import VALUES, steady
from tests.wire.acp.replay import played


def usage(input_tokens: int, output_tokens: int, total: int | None = None, **more: int) -> dict[str, int]:
    known = {} if total is None else {"totalTokens": total}
    return {"inputTokens": input_tokens, "outputTokens": output_tokens, **known, **more}


def counts(reported: Any) -> tuple[int | None, int | None, int | None]:
    used = UsageCounter().read(reported)
    assert used is not None
    return used.input_tokens, used.output_tokens, used.total_tokens


@pytest.mark.parametrize(
    ("reported", "expected"),
    [
        (usage(11, 20, 31, thoughtTokens=5), (11, 20, 31)),  # codex-acp: thoughts inside
        (usage(11, 20, 36, thoughtTokens=5), (11, 25, 36)),  # beside
        (usage(10, 20, 130, cachedReadTokens=90, cachedWriteTokens=10), (110, 20, 130)),  # Anthropic: cache beside
        (usage(100, 20, 120, cachedReadTokens=90, cachedWriteTokens=10), (100, 20, 120)),  # inside
        (usage(10, 20, 45, cachedReadTokens=10, thoughtTokens=5), (20, 25, 45)),  # both beside
        (usage(10, 20, cachedReadTokens=90), (100, 20, 120)),  # no total: more than the whole cannot be inside
        (usage(10, 20, thoughtTokens=50), (10, 70, 80)),
        (usage(100, 20, cachedReadTokens=90), (100, 20, 120)),
        (usage(10, 20, 999, cachedReadTokens=5), (10, 20, 30)),  # a total that nothing makes
    ],
)
def test_the_total_decides_whether_the_parts_are_inside_or_beside(reported: Any, expected: Any) -> None:
    assert counts(reported) == expected


def test_the_parts_are_kept() -> None:
    used = UsageCounter().read(usage(11, 20, 31, thoughtTokens=5, cachedReadTokens=3, cachedWriteTokens=2))
    assert used == TokenUsage(None, None, 11, 20, 31, 5, 3, 2)


def test_a_counter_over_the_session_reports_what_the_turn_added() -> None:
    counter = UsageCounter("session")
    assert counter.read(usage(11, 20, 31, cachedReadTokens=1)) == TokenUsage(None, None, 11, 20, 31, None, 1)
    assert counter.read(usage(33, 60, 93, cachedReadTokens=5)) == TokenUsage(None, None, 22, 40, 62, None, 4)
    assert counter.read(usage(33, 60, 93, cachedReadTokens=5)) is None


def test_a_smaller_count_is_a_new_beginning() -> None:
    counter = UsageCounter("session")
    counter.read(usage(33, 60, 93))
    assert counter.read(usage(11, 20, 31)) == TokenUsage(None, None, 11, 20, 31)


def test_nothing_counted_is_nothing_reported() -> None:
    assert UsageCounter().read(usage(0, 0, 0)) is None
    assert UsageCounter().read(None) is None
    assert UsageCounter().read({"inputTokens": "many"}) is None


def test_geminis_own_place_is_read() -> None:
    count = {"input_tokens": 22, "output_tokens": 40}
    quota = {"token_count": count, "model_usage": [{"model": "gemini-2.5-flash", "token_count": count}]}
    assert UsageCounter().read(None, {"quota": quota}) == TokenUsage(None, "gemini-2.5-flash", 22, 40, 62)


def test_agents_that_count_the_session_are_reported_by_the_turn() -> None:
    """Both turns of the recording cost the same; copilot-cli reports 31, then 62."""
    for agent in ("copilot-cli", "hermes-agent", "codex-acp"):
        (session,) = played(f"{agent}/text").sessions.values()
        totals = [run[-1]["usage"][0]["totalTokens"] for run in session.runs if "usage" in run[-1]]
        assert totals == [31, 31]


KEYS = st.sampled_from(["inputTokens", "outputTokens", "totalTokens", "thoughtTokens", "cachedReadTokens", "quota"])


@steady
@given(st.lists(st.dictionaries(KEYS, VALUES | st.integers(0, 99)), max_size=4), st.sampled_from(["turn", "session"]))
def test_any_report_is_read_and_its_parts_fit_the_whole(reports: list[Any], covers: Any) -> None:
    counter = UsageCounter(covers)
    for report in reports:
        used = counter.read(report, report)
        if used is not None:
            assert used.total_tokens == (used.input_tokens or 0) + (used.output_tokens or 0)
