"""The snapshot of a thread whose session is closed: what is set holds, and what is not listed is not refused."""

from __future__ import annotations

from gateway.capability_paths import MODE, MODES, OPTIONS, SESSION_OPEN
from gateway.runs.thread_settings import ThreadSettings
from tests.capabilities.test_session_modes import CODE, PLAN, acp_agent, snapshot_in

LISTED = [{"id": "plan", "name": "Plan"}]


def test_the_mode_that_is_set_decides_before_the_session_is_open_again() -> None:
    closed = ThreadSettings(mode="plan", layer={MODE: "build", MODES: LISTED}).closed_layer
    snapshot = snapshot_in(acp_agent(PLAN), dict(closed))
    assert (snapshot.get(CODE), snapshot.get(MODE), snapshot.get(SESSION_OPEN)) == (False, "plan", False)
    assert snapshot.get(f"{OPTIONS}.mode.values") == LISTED
    assert snapshot.explain()[MODE]["source"] == "what is set on the thread, whose session is closed"


def test_a_list_that_was_not_kept_is_not_known_rather_than_empty() -> None:
    closed = ThreadSettings(mode="plan").closed_layer
    assert snapshot_in(acp_agent(PLAN), dict(closed)).get(f"{OPTIONS}.model") is None
    assert snapshot_in(acp_agent(PLAN), {MODE: "plan"}).get(f"{OPTIONS}.model") is False, "an open session lists all"
