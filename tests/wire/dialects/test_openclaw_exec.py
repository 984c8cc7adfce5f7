"""OpenClaw: `openclaw agent exec --json`."""

from __future__ import annotations

import pytest

from gateway.events import Custom, TextMessageContent, TextMessageEnd, TokenUsage, TurnEnded, TurnFailed
from gateway.turn import Approvals
from gateway.wire.dialects import Dialect, Prompt, SessionStart
from gateway.wire.dialects.openclaw import OpenClawExec
from gateway.wire.dialects.openclaw.exec import REFUSED
from tests.wire.dialects.golden import TRANSCRIPTS
from tests.wire.dialects.replay import Recording, client_runs, read_turn

CASES = sorted(path.stem for path in (TRANSCRIPTS / "openclaw").glob("exec-*.json"))


def begun(approvals: Approvals = "auto") -> OpenClawExec:
    dialect = OpenClawExec()
    dialect.start_session(SessionStart("/workspace"))
    dialect.prompt(Prompt([{"type": "text", "text": "go"}], "k", approvals=approvals))
    return dialect


def document(case: str) -> bytes:
    return (TRANSCRIPTS / "openclaw" / f"{case}.json").read_bytes()


def _recording(case: str) -> Recording:
    def made() -> tuple[Dialect, list[bytes]]:
        return begun(), [document(case)]

    return made


RECORDINGS: dict[str, Recording] = {case: _recording(case) for case in CASES}


@pytest.mark.parametrize("case", CASES)
def test_a_recording_is_a_stream_that_clients_accept(case: str) -> None:
    [stream] = client_runs(read_turn(begun(), [[document(case)]]))
    assert not [event for event in stream if event["type"] == "RAW"]


def test_the_prompt_goes_to_stdin() -> None:
    assert begun().outbox == [b"go"]


def test_an_answer_comes_with_its_tokens_and_its_price() -> None:
    events = begun().read([document("exec-tool")])
    assert events[:2] == [TextMessageContent("done: hi"), TextMessageEnd()]
    assert Custom("openclaw.calls", {"calls": 1, "tools": ["exec"], "failures": 0}) in events
    [used] = [event for event in events if isinstance(event, TokenUsage)]
    assert (used.input_tokens, used.output_tokens, used.model) == (22, 40, "fake-model")
    assert Custom("cost", {"usd": 0.000102}) in events
    assert events[-1] == TurnEnded()


@pytest.mark.parametrize(("case", "code"), [("exec-error", "MODEL_ERROR"), ("exec-no-credentials", "AUTH_REQUIRED")])
def test_a_failure_has_a_code(case: str, code: str) -> None:
    [broke] = begun().read([document(case)])
    assert isinstance(broke, TurnFailed) and broke.code == code


def test_a_run_that_took_too_long_is_known_by_its_exit_code() -> None:
    [broke] = begun().on_process_exit(2, "")
    assert isinstance(broke, TurnFailed) and broke.code == "TURN_LIMIT"


def test_a_run_that_was_stopped_is_cancelled() -> None:
    dialect = begun()
    assert not dialect.cancel()
    assert dialect.on_process_exit(130, "") == [TurnEnded("cancelled")]


@pytest.mark.parametrize("approvals", ["prompt", "deny"])
def test_a_run_that_needs_approvals_is_refused(approvals: Approvals) -> None:
    dialect = begun(approvals)
    assert dialect.outbox == []
    assert dialect.on_process_exit(1, "no message") == [TurnFailed(REFUSED, "CAPABILITY_ERROR")]
    assert not dialect.is_busy


def test_every_run_is_a_conversation_of_its_own() -> None:
    dialect = OpenClawExec()
    dialect.start_session(SessionStart("/workspace", "known"))
    assert dialect.has_lost_history
