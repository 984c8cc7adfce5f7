"""A fixed sample of the fuzzer's cases, and the fuzzer itself: it finds, reduces and reports what breaks a reader."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from random import Random

import orjson
import pytest

from gateway.events import Interrupt
from gateway.turn import Answer
from gateway.wire.approvals import Approval, Decision
from gateway.wire.dialects import DIALECTS
from tests.fuzz import __main__ as command
from tests.fuzz.answers import UNCLEAR_PAYLOADS, check_no_yes, is_approval
from tests.fuzz.mutations import JSON_TEXTS, cut_bytes, mutate_lines
from tests.fuzz.runner import Report, fuzz, random_case, run_cases
from tests.fuzz.sweep import sweep_cases
from tests.fuzz.target import Sample, Target
from tests.fuzz.targets import all_targets

CASES_PER_TARGET = 40
SAMPLE_STRIDE = 6
SWEEP_STRIDE = 83
"""A prime, so that every JSON type has its turn."""
LINES = (b'{"type":"a","value":1}', b'{"type":"b","items":[{"id":"x"}]}', b'{"type":"c"}')
APPROVING_TARGETS = {"acp/session"} | {
    f"dialect/{name}" for name in ("claude", "codex", "copilot", "hermes", "omp", "openclaw", "opencode", "pi")
}

TARGETS = all_targets()


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_no_random_case_breaks_a_reader(target: Target) -> None:
    assert fuzz([target], 7, cases=CASES_PER_TARGET).failures == []


def test_no_value_of_another_type_breaks_a_reader() -> None:
    few = [replace(target, samples=target.samples[::SAMPLE_STRIDE]) for target in TARGETS]
    assert run_cases(sweep_cases(few, SWEEP_STRIDE), Report()).failures == []


def test_every_dialect_is_fuzzed() -> None:
    assert {target.name for target in all_targets("dialect/")} == {f"dialect/{name}" for name in DIALECTS}


def test_the_recordings_themselves_pass_every_check() -> None:
    for target in TARGETS:
        for sample in target.samples[:10]:
            target.check(sample, list(sample.lines), Random(1))


# -- the fuzzer


def read_strictly(sample: Sample, lines: list[bytes], rng: Random) -> None:
    """A reader that raises if an `id` is no string."""
    for line in lines:
        try:
            message = orjson.loads(line)
        except orjson.JSONDecodeError:
            continue
        items = message.get("items") if isinstance(message, dict) else None
        for item in items if isinstance(items, list) else []:
            if isinstance(item, dict) and isinstance(item.get("id"), int):
                raise TypeError("an id that is no string")


STRICT = Target("strict", [Sample("s", LINES)], read_strictly)
LENIENT = Target("lenient", [Sample("s", LINES)], lambda sample, lines, rng: None)


def test_a_failure_is_found_reduced_and_reported_and_the_others_go_on() -> None:
    output: list[str] = []
    report = fuzz([STRICT, LENIENT], 1, cases=5000, output=output.append)
    assert report.cases == 5000
    [failure] = report.failures
    assert output == [failure]
    assert "FAILED strict (s), --case " in failure
    assert "1 lines of" in failure
    assert '{"items":[{"id":' in failure
    assert "TypeError: an id that is no string" in failure


def test_the_sweep_finds_it_too() -> None:
    assert len(run_cases(sweep_cases([STRICT, LENIENT]), Report(), output=lambda text: None).failures) == 1


def test_a_seed_makes_the_same_cases_again() -> None:
    cases = [random_case(TARGETS[0], seed).lines for seed in range(50)]
    assert cases == [random_case(TARGETS[0], seed).lines for seed in range(50)]


def test_mutations_leave_the_recording_as_it_is() -> None:
    before = [orjson.loads(line) for line in LINES]
    mutated = [mutate_lines(Random(seed), LINES) for seed in range(500)]
    assert [orjson.loads(line) for line in LINES] == before
    assert len({tuple(lines) for lines in mutated}) > 300


def test_every_json_type_comes_in_the_sweep() -> None:
    first_values = list(islice(sweep_cases([LENIENT]), len(JSON_TEXTS)))
    assert [case.lines[0] for case in first_values] == [b'{"type":%b,"value":1}' % text for text in JSON_TEXTS]


def test_cut_bytes_are_the_same_bytes() -> None:
    assert all(b"".join(cut_bytes(Random(seed), LINES[0])) == LINES[0] for seed in range(20))


def test_a_yes_without_a_clear_answer_is_noticed() -> None:
    approval = Interrupt("i", "tool_call", response_schema=Approval().response_schema())
    assert is_approval(approval)
    unclear = Answer("i", "resolved", {"approved": "true"})
    for message in (b'{"behavior":"allow"}', b'{"decision":"acceptForSession"}', b'{"confirmed":true}'):
        with pytest.raises(AssertionError, match="became a yes"):
            check_no_yes([message], unclear)
    check_no_yes([b'{"behavior":"deny"}', b'{"decision":"decline"}', b'{"confirmed":false}'], unclear)


@pytest.mark.parametrize("name", sorted(APPROVING_TARGETS))
def test_a_dialect_that_takes_anything_for_a_yes_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def allow(approval: Approval, answer: Answer) -> Decision:
        return Decision(is_allowed=True, option=approval.options[0] if approval.options else None)

    monkeypatch.setattr(Approval, "decide", allow)
    [target] = [target for target in TARGETS if target.name == name]
    report = fuzz([target], 3, cases=1000, output=lambda text: None)
    assert len(report.failures) == 1
    assert "AssertionError" in report.failures[0]


@pytest.mark.parametrize("payload", UNCLEAR_PAYLOADS, ids=repr)
def test_no_unclear_payload_is_a_yes(payload: object) -> None:
    assert not Approval().decide(Answer("i", "resolved", payload)).is_allowed


def test_the_command_prints_one_line_if_nothing_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--only", "mcp/", "--seconds", "0.05", "--seed", "1"]) == 0
    output = capsys.readouterr()
    assert output.err == ""
    assert output.out.startswith("fuzz: ")
    assert output.out.endswith(" s, 0 failures\n")
    assert output.out.count("\n") == 1


def test_the_command_fails_if_something_is_found(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "all_targets", lambda only: [STRICT])
    assert command.main(["--sweep"]) == 1
    assert capsys.readouterr().out.endswith(" s, 1 failures\n")
    assert command.main(["--case", "1"]) in (0, 1)
    assert command.main(["--list"]) == 0
