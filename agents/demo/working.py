"""Scenes of a coding agent at work: words set as Markdown, an edit with its diff, a command that prints as it runs."""

from __future__ import annotations

from collections.abc import AsyncIterator

import anyio

from gateway.events import ActivityDelta, ActivitySnapshot, Event, ToolCallResult
from gateway.turn import Turn

from .voice import call, say

PAUSE = 0.15
"""Seconds between two lines of the command: one should see that it is alive."""

MARKDOWN = """\
## What a frontend may be given

An answer is *Markdown*: **strong words**, `code`, ~~mistakes~~ and [links](https://docs.ag-ui.com).

1. Lists that count,
2. and lists that do not:
   - [x] done
   - [ ] still open

| event | how many |
|---|---:|
| text | 12 |
| tools | 3 |

> What others said.

```python
def greet(name: str) -> str:
    return f"Hello, {name}"  # in colours, if the frontend likes
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
    """Both calls in the shape in which the gateway tells those of real coding agents."""
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
        await anyio.sleep(PAUSE)
        yield ActivityDelta(f"{test}-terminal", "terminal", [{"op": "add", "path": "/output/-", "value": line}])
    over = [{"op": "add", "path": "/exitCode", "value": 0}]
    yield ActivityDelta(f"{test}-terminal", "terminal", over)
    yield ToolCallResult(test, "3 passed", metadata={"acp": {"status": "completed", "exitCode": 0}})
    async for event in say("Changed, tested, done. No file was touched, though: this is a demo."):
        yield event
