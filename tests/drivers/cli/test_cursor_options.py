"""Cursor's print mode with a program that notes its arguments: the real one cannot be installed here."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.gateway import Gateway, run_input, text_of

PROGRAM = """#!{python}
import json, sys
with open({note!r}, "a") as note:
    note.write(json.dumps(sys.argv[1:]) + "\\n")
if "--version" in sys.argv:
    print("2026.11.01")
elif "acp" in sys.argv:
    sys.exit(3)
elif "-p" in sys.argv:
    sys.stdin.read()
    for word in ("one ", "two"):
        content = [{{"type": "text", "text": word}}]
        message = {{"role": "assistant", "content": content}}
        print(json.dumps({{"type": "assistant", "message": message, "session_id": "s-1", "timestamp_ms": 1}}))
    print(json.dumps({{"type": "result", "subtype": "success", "is_error": False, "result": "one two",
                       "session_id": "s-1"}}))
"""


@pytest.fixture
def note(tmp_path: Path) -> Path:
    return tmp_path / "arguments.jsonl"


@pytest.fixture
def gateway(tmp_path: Path, note: Path) -> Iterator[Gateway]:
    program = tmp_path / "bin" / "cursor-agent"
    program.parent.mkdir()
    program.write_text(PROGRAM.format(python=sys.executable, note=str(note)))
    program.chmod(0o755)
    env = {"PATH": f"{program.parent}:/usr/bin:/bin", "CURSOR_API_KEY": "key-0123456789", "HOME": str(tmp_path)}
    with Gateway(tmp_path / "gateway", env=env) as running:
        yield running


def arguments(note: Path) -> list[str]:
    """Of the newest turn."""
    lines: list[list[str]] = [json.loads(line) for line in note.read_text().splitlines()]
    return [line for line in lines if "-p" in line][-1]


@pytest.mark.parametrize(
    ("model", "effort", "expected"),
    [
        ("gpt-5.3-codex", "high", "gpt-5.3-codex-high"),
        ("gpt-5.3-codex", "max", "gpt-5.3-codex-xhigh"),
        ("gpt-5.3-codex-high", "low", "gpt-5.3-codex-low"),
        ("gpt-5.3-codex-xhigh", "medium", "gpt-5.3-codex"),
    ],
)
def test_effort_is_a_part_of_the_models_name(
    model: str, effort: str, expected: str, gateway: Gateway, note: Path
) -> None:
    """agent-mux supportsThinking: cursor."""
    events = gateway.run("cursor", forwardedProps={"gateway": {"model": model, "effort": effort}})
    assert events[-1]["type"] == "RUN_FINISHED", events[-1]
    line = arguments(note)
    assert line[line.index("--model") + 1] == expected


def test_an_effort_without_a_model_is_refused(gateway: Gateway, note: Path) -> None:
    """agent-mux supportsThinking: cursor."""
    answer = gateway.post("cursor", run_input(forwardedProps={"gateway": {"effort": "high"}}))
    if answer.status_code == 200:  # the model was not known before the session
        assert "RUN_ERROR" in answer.text and "model" in answer.text
    else:
        assert answer.status_code == 422 and answer.json()["code"] == "CAPABILITY_ERROR", answer.text
    assert not note.exists() or not any("-p" in json.loads(line) for line in note.read_text().splitlines())


def test_a_run_that_must_stream_gets_partial_output(gateway: Gateway, note: Path) -> None:
    """agent-mux supportsTextStreaming: cursor."""
    for stream in (True, "auto"):
        events = gateway.run("cursor", forwardedProps={"gateway": {"stream": stream, "merge": False}})
        assert text_of(events) == "one two", events
        assert "--stream-partial-output" in arguments(note)
