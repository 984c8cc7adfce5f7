"""Recordings of real agents, mutilated: whatever comes of them is still a stream that the official client takes."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tests.wire.dialects
from gateway.wire.dialects import DIALECTS
from tests.wire.dialects.replay import Recording, client_runs, read_turn


def _recordings() -> dict[str, Recording]:
    all_recordings: dict[str, Recording] = {}
    for module in pkgutil.iter_modules(tests.wire.dialects.__path__):
        if module.name.startswith("test_") and module.name != "test_mutations":
            recordings = getattr(importlib.import_module(f"tests.wire.dialects.{module.name}"), "RECORDINGS", {})
            all_recordings |= {f"{module.name[5:]}/{case}": recording for case, recording in recordings.items()}
    return all_recordings


RECORDINGS = _recordings()

ODD: list[Any] = [None, True, 0, -1, 1.5, "", "x", [], {}, [None], {"type": 7}]


@st.composite
def mutated(draw: st.DrawFn, messages: list[bytes]) -> list[bytes]:
    """Some lines dropped, doubled, moved, cut short or changed inside."""
    lines = list(messages)
    for _ in range(draw(st.integers(1, 6))):
        if not lines:
            break
        at = draw(st.integers(0, len(lines) - 1))
        match draw(st.sampled_from(("drop", "double", "move", "cut", "retype", "noise"))):
            case "drop":
                del lines[at]
            case "double":
                lines.insert(at, lines[at])
            case "move":
                lines.insert(draw(st.integers(0, len(lines) - 1)), lines.pop(at))
            case "cut":
                lines[at] = lines[at][: draw(st.integers(0, len(lines[at])))]
            case "retype":
                lines[at] = _retyped(draw, lines[at])
            case "noise":
                lines.insert(at, draw(st.sampled_from((b"[]", b"null", b"7", b'"x"', b"Warning: none", b"{}"))))
    return lines


def _retyped(draw: st.DrawFn, line: bytes) -> bytes:
    """One value somewhere inside becomes another kind of value."""
    try:
        tree = orjson.loads(line)
    except orjson.JSONDecodeError:
        return line
    places = [(node, key) for node in _nodes(tree) for key in (node if isinstance(node, dict) else range(len(node)))]
    if places:
        node, key = draw(st.sampled_from(places))
        node[key] = draw(st.sampled_from(ODD))
    return orjson.dumps(tree)


def _nodes(tree: Any) -> list[Any]:
    all_recordings, waiting = [], [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict | list):
            all_recordings.append(node)
            waiting += node.values() if isinstance(node, dict) else node
    return all_recordings


@pytest.mark.parametrize("case", RECORDINGS)
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_mutilated_recording_is_still_a_well_ordered_stream(case: str, data: st.DataObject) -> None:
    dialect, messages = RECORDINGS[case]()
    lines = data.draw(mutated(messages))
    size = data.draw(st.sampled_from((1, 2, 7, 1000)))
    batches = [lines[at : at + size] for at in range(0, len(lines), size)]
    client_runs(read_turn(dialect, batches, data.draw(st.sampled_from((0, 1, -9, None)))))


def test_every_dialect_has_recordings() -> None:
    assert {type(recording()[0]).name for recording in RECORDINGS.values()} == set(DIALECTS)
