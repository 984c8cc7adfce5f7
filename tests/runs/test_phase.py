from __future__ import annotations

import pytest

from gateway.runs.phase import FINAL, MOVES, NoSuchMove, Phase, Signal, move

LEGAL = {
    ("queued", "start"): "running",
    ("queued", "cancel"): "cancelled",
    ("queued", "break"): "failed",
    ("running", "ask"): "parked",
    ("running", "end"): "finished",
    ("running", "cancel"): "cancelling",
    ("running", "break"): "failed",
    ("parked", "answer"): "running",
    ("parked", "cancel"): "cancelling",
    ("parked", "break"): "failed",
    ("cancelling", "ask"): "cancelling",
    ("cancelling", "end"): "cancelled",
    ("cancelling", "break"): "cancelled",
    ("cancelling", "cancel"): "cancelling",
}
"""The table once more, as a person would say it."""


@pytest.mark.parametrize("signal", Signal, ids=lambda signal: signal.value)
@pytest.mark.parametrize("phase", Phase, ids=lambda phase: phase.value)
def test_every_phase_takes_the_signals_it_should_and_no_other(phase: Phase, signal: Signal) -> None:
    then = LEGAL.get((phase.value, signal.value))
    if then is None:
        with pytest.raises(NoSuchMove, match=f"that is {phase.value} cannot take '{signal.value}'"):
            move(phase, signal)
    else:
        assert move(phase, signal) is Phase(then)


def test_every_phase_is_in_the_table() -> None:
    assert set(MOVES) == set(Phase)


def test_what_is_final_stays() -> None:
    assert {Phase.FINISHED, Phase.FAILED, Phase.CANCELLED} == FINAL


@pytest.mark.parametrize("phase", Phase, ids=lambda phase: phase.value)
def test_from_everywhere_there_is_a_way_to_an_end(phase: Phase) -> None:
    reached, seen = [phase], {phase}
    while reached:
        found = set(MOVES[reached.pop()].values()) - seen
        seen |= found
        reached.extend(found)
    assert seen & FINAL


@pytest.mark.parametrize("phase", [phase for phase in Phase if phase not in FINAL], ids=lambda phase: phase.value)
def test_what_is_stopped_never_ends_as_finished(phase: Phase) -> None:
    phase = move(phase, Signal.CANCEL)
    assert phase is Phase.CANCELLED or set(MOVES[phase].values()) <= {Phase.CANCELLING, Phase.CANCELLED}
