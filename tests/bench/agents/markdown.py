"""An agent that writes Markdown: `deltas N` is one answer in so many pieces, `messages N` is so many answers."""

from collections.abc import AsyncIterator

from gateway.events import TextMessageContent, TextMessageEnd
from gateway.turn import Turn

PARAGRAPH = 20
"""Pieces of one."""


async def markdown(turn: Turn) -> AsyncIterator[TextMessageContent | TextMessageEnd]:
    kind, size = turn.text.split()
    for number in range(int(size)):
        if kind == "deltas":
            yield TextMessageContent(f"w{number:05d} **b** " + ("\n\n" if number % PARAGRAPH == 0 else ""))
        else:
            told = f"m-{turn.run_id}-{number}"
            yield TextMessageContent(f"m{number:05d} **b** and `code`\n\n- one\n- two\n", message_id=told)
            yield TextMessageEnd(told)
