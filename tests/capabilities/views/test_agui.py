"""AG-UI's capabilities, as clients before 1.0 spell them."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from gateway.capabilities.views.agui import before_1_0


def test_capabilities_spell_subagents_the_old_way() -> None:
    snapshot = {"identity": {"name": "n"}, "multiAgent": {"supported": True, "subagents": [{"name": "s"}]}}
    before = copy.deepcopy(snapshot)
    assert before_1_0(snapshot) == {
        "identity": {"name": "n"},
        "multiAgent": {"supported": True, "subAgents": [{"name": "s"}]},
    }
    assert snapshot == before


@pytest.mark.parametrize("snapshot", [{}, {"multiAgent": {}}, {"multiAgent": {"supported": False}}], ids=str)
def test_capabilities_without_subagents_stay_as_they_are(snapshot: dict[str, Any]) -> None:
    assert before_1_0(snapshot) is snapshot
