"""Representative recordings of pi and omp and what a client sees of them, as files to be read by eye.

`python -m tests.wire.dialects.test_pi_golden` writes them again; review the difference.
"""

from __future__ import annotations

import pytest

from tests.wire.dialects.golden import GOLDEN, shown
from tests.wire.dialects.pi_replay import played, runs_of

CASES = {
    "pi/rpc-text": "tokens with copies of the message; the end is asked for",
    "pi/rpc-thinking": "thoughts that end when the text is over",
    "pi/rpc-gate-allow": "the gate asks, the user allows",
    "pi/rpc-gate-abort": "cancelled while the gate asks",
    "pi/rpc-parallel": "two calls, asked about one after the other by an extension",
    "pi/json-error-retry": "an overload, retried in vain",
    "pi/json-no-credentials": "a header and nothing more",
    "pi-1.5/rpc-text": "tokens alone",
    "pi-1.5/rpc-gate-deny": "the gate asks, the user refuses, and the turn goes on",
    "pi-1.5/rpc-gate-edit": "the user changes the arguments",
    "pi-1.5/rpc-cancel-tool": "a command that is stopped; the agent calls that an error",
    "pi-1.5/rpc-error": "a model's failure, with a provider's whole answer in it",
    "pi-1.5/json-tool-longrun": "output while it runs",
    "pi-1.5/json-fork": "a copy of a session",
    "omp/rpc-text": "what omp says beside",
    "omp/rpc-permission-deny": "omp asks, before the tool's start",
    "omp/rpc-permission-abort": "cancelled while omp asks",
    "omp/rpc-permission-parallel": "two calls, two questions",
    "omp/rpc-subagent": "messages of its own; the result comes back by itself",
    "omp/rpc-command": "a command of omp's own",
    "omp/rpc-error": "without the path of a file",
    "omp/rpc-cancel": "cancelled in mid-sentence",
    "omp/json-tool": "a call that has no name until it is complete; its intent",
    "omp/json-permission-no-ui": "no user to ask",
}


def file_of(case: str) -> str:
    return f"{case.replace('/', '-')}.json"


@pytest.mark.parametrize("case", CASES)
def test_a_client_sees_the_golden_stream(case: str) -> None:
    assert shown(runs_of(played(case).events)) == (GOLDEN / file_of(case)).read_text("utf-8")


def test_every_file_belongs_to_a_recording() -> None:
    files = {path.name for agent in ("pi", "omp") for path in GOLDEN.glob(f"{agent}-*.json")}
    assert files == {file_of(case) for case in CASES}


if __name__ == "__main__":
    for case in CASES:
        (GOLDEN / file_of(case)).write_text(shown(runs_of(played(case).events)), "utf-8")
