"""Goldens: what a client sees of a recording, as a file for people to read. One event a line, one list for each run."""

from __future__ import annotations

import json
from collections.abc import Iterable

from gateway.events import Wire


def render_runs(runs: Iterable[list[Wire]]) -> str:
    blocks = ["[\n" + ",\n".join(_line(event) for event in run) + "\n]" for run in runs]
    return "[" + ",\n".join(blocks) + "]\n"


def _line(event: Wire) -> str:
    return json.dumps(event, ensure_ascii=False, sort_keys=True)
