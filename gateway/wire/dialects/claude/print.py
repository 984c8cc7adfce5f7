"""`claude -p` with a prompt on stdin: one process per turn.

In: lines. Out: events, and the prompt as text. The lines are those of the two-way mode, but Claude can ask the user
nothing. Several results may come, all at the end: the last one is the turn's.
"""

from __future__ import annotations

from typing import ClassVar

from gateway.wire.dialects.base import Prompt
from gateway.wire.dialects.claude.content import to_content
from gateway.wire.dialects.claude.reader import ClaudeReader, Line


class ClaudePrint(ClaudeReader):
    """One process for a turn."""

    name: ClassVar[str] = "claude-print"

    def prompt(self, prompt: Prompt) -> None:
        self.start_turn(prompt)
        content, dropped = to_content(prompt.blocks)
        for kind in dropped + [str(block["type"]) for block in content if block["type"] != "text"]:
            message = f"Claude Code takes no {kind} on its command line: it was left out of the prompt"
            self._queued.append(self.make_warning("CONTENT_DROPPED", message))
        self.send_text("\n\n".join(block["text"] for block in content if block["type"] == "text"))

    def _answers_prompt(self, line: Line) -> bool:
        return True

    def _continues(self, line: Line) -> bool:
        return True
