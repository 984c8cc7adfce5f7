"""What Claude Code reports of a turn, as the session's layer."""

from __future__ import annotations

import pytest

from gateway.wire.dialects.claude.session_state import turn_layer


@pytest.mark.parametrize(("version", "name"), [("2.1.325", "Agent"), ("2.1.63", "Agent"), ("2.1.62", "Task")])
def test_the_subagent_tool_has_the_name_that_the_model_sees(version: str, name: str) -> None:
    """The line keeps the old name, `Task`, for programs that look for it."""
    line = {"tools": ["Bash", "Task"], "claude_code_version": version}
    assert [item["name"] for item in turn_layer(line)["tools.items"]] == ["Bash", name]
