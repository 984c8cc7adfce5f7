"""Scenes of a coding agent: Markdown, an edit with its diff, a command that prints while it runs."""

from __future__ import annotations

from collections.abc import AsyncIterator

import anyio

from gateway import ActivityDelta, ActivitySnapshot, Event, ToolCallResult, Turn

from .streams import call, say

LINE_PAUSE_SECONDS = 0.15
"""Between two lines of the command, so that the user sees them appear."""

MARKDOWN = """\
## What a frontend may receive

An answer is *Markdown*: **bold text**, `code`, ~~mistakes~~ and [links](https://docs.ag-ui.com).

1. Lists that count,
2. and lists that do not:
   - [x] done
   - [ ] still open

| event | how many |
|---|---:|
| text | 12 |
| tools | 3 |

> A quotation.

```python
def greet(name: str) -> str:
    return f"Hello, {name}"  # in colours, if the frontend supports it
```

HTML is only text: <img src=x onerror=alert(1)> must never be more than that.
"""

BEFORE = "def greet(name):\n    print('Hello ' + name)\n\n\ngreet('you')\n"
AFTER = 'def greet(name: str) -> None:\n    print(f"Hello, {name}!")\n\n\ngreet("you")\n'
LINES = (
    "\x1b[1mcollected 3 items\x1b[0m\n",
    "test_greet.py \x1b[32m.\x1b[0m",
    "\x1b[32m.\x1b[0m",
    "\x1b[32m.\x1b[0m\n",
    "\x1b[32m3 passed\x1b[0m in 0.02s\n",
)


async def markdown(turn: Turn) -> AsyncIterator[Event]:
    async for event in say(MARKDOWN):
        yield event


async def edit(turn: Turn) -> AsyncIterator[Event]:
    """Both calls have the shape that the gateway gives to those of real coding agents."""
    change, test = f"{turn.run_id}-edit", f"{turn.run_id}-test"
    async for event in say("The greeting could be kinder."):
        yield event
    async for event in call(change, "edit", {"path": "greet.py"}):
        yield event
    diff = {"path": "greet.py", "oldText": BEFORE, "newText": AFTER}
    yield ToolCallResult(change, "greet.py was changed", metadata={"acp": {"status": "completed", "diffs": [diff]}})
    async for event in call(test, "shell", {"command": "pytest"}):
        yield event
    yield ActivitySnapshot(f"{test}-terminal", "terminal", {"toolCallId": test, "command": "pytest", "output": []})
    for line in LINES:
        await anyio.sleep(LINE_PAUSE_SECONDS)
        yield ActivityDelta(f"{test}-terminal", "terminal", [{"op": "add", "path": "/output/-", "value": line}])
    exit_code = [{"op": "add", "path": "/exitCode", "value": 0}]
    yield ActivityDelta(f"{test}-terminal", "terminal", exit_code)
    yield ToolCallResult(test, "3 passed", metadata={"acp": {"status": "completed", "exitCode": 0}})
    async for event in say("Changed, tested, done. No file was touched, though: this is a demo."):
        yield event
