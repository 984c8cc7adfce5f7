"""How a thread was left: by its last run, by a release."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.identity import ThreadKey
from gateway.runs.outcomes import MAX_THREADS, LastOutcomes

THREAD = ThreadKey("an-agent", "t", "me")
PENDING = {"type": "RUN_FINISHED", "outcome": {"type": "success", "pendingToolCallIds": ["c"]}}
DIED = {"type": "RUN_ERROR", "message": "gone", "code": "AGENT_DIED"}


@pytest.mark.parametrize(
    ("last", "left"),
    [
        (DIED, "failed"),
        (DIED | {"code": "AGENT_STALLED"}, "failed"),
        (DIED | {"code": "AGENT_ERROR"}, "idle"),
        ({"type": "RUN_ERROR", "message": "no code"}, "idle"),
        (PENDING, "waiting"),
        ({"type": "RUN_FINISHED", "outcome": {"type": "success", "pendingToolCallIds": []}}, "idle"),
        ({"type": "RUN_FINISHED", "outcome": {"type": "cancelled"}}, "idle"),
        ({"type": "RUN_FINISHED"}, "idle"),
    ],
)
def test_a_run_leaves_its_thread_as_its_last_event_says(last: dict[str, Any], left: str) -> None:
    endings = LastOutcomes()
    endings.run_ended(THREAD, last, is_parked=False)
    assert endings.get(THREAD) == left
    endings.run_ended(THREAD, {"type": "RUN_FINISHED"}, is_parked=False)
    assert endings.get(THREAD) == "idle"


def test_a_turn_that_waits_itself_leaves_nothing_behind_when_it_does_no_longer() -> None:
    endings = LastOutcomes()
    endings.run_ended(THREAD, PENDING, is_parked=True)
    assert endings.get(THREAD) == "idle"


def test_what_was_released_is_that_until_it_is_opened_again() -> None:
    endings = LastOutcomes()
    assert not endings.session_opened(THREAD)
    endings.session_released(THREAD)
    assert endings.get(THREAD) == "released"
    assert endings.session_opened(THREAD)
    assert endings.get(THREAD) == "idle"


def test_opening_a_session_between_runs_does_not_undo_a_failure() -> None:
    endings = LastOutcomes()
    endings.run_ended(THREAD, DIED, is_parked=False)
    assert not endings.session_opened(THREAD)
    assert endings.get(THREAD) == "failed"
    endings.thread_deleted(THREAD)
    assert endings.get(THREAD) == "offline"


def test_only_so_many_are_kept() -> None:
    endings = LastOutcomes()
    threads = [ThreadKey("an-agent", str(number), "me") for number in range(MAX_THREADS + 1)]
    for thread in threads:
        endings.session_released(thread)
    assert [endings.get(thread) for thread in (threads[0], threads[1], threads[-1])] == ["idle", "released", "released"]
