"""All recordings of the dialects' tests: each test module keeps its own in a table `RECORDINGS`."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

import tests.wire.dialects
from tests.wire.dialects.replay import Recording

WITHOUT_RECORDINGS = ("test_mutations",)


@cache
def all_recordings() -> dict[str, Recording]:
    """`module/case` → the recording."""
    recordings: dict[str, Recording] = {}
    for module in pkgutil.iter_modules(tests.wire.dialects.__path__):
        if module.name.startswith("test_") and module.name not in WITHOUT_RECORDINGS:
            table = getattr(importlib.import_module(f"tests.wire.dialects.{module.name}"), "RECORDINGS", {})
            recordings |= {f"{module.name.removeprefix('test_')}/{case}": known for case, known in table.items()}
    return recordings
