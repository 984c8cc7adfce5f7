"""What the scripted model answers: plain words in the newest message decide, whatever the wire format.

In: a request as `Asked`. Out: an `Answer`, or the `Failure` it asked for. It knows no provider and no clock.

| in the message | the answer |
|---|---|
| anything | `You said: …`, a word at a time |
| `THINK` anywhere | the same after some reasoning |
| a line `SHELL command` | a call of the shell tool; several such lines are called at once |
| a line `WRITE path content` | a call of the tool that writes files |
| a line `CALL name {json}` | a call of the tool whose name ends so |
| after a tool's result | `done: ` and the first 200 characters of it |
| `LONG n`, `SLOW n` | n words; slowly, one in 200 ms |
| `IMAGE?` | how many images came, and of what kinds |
| `ERROR status` | no answer but this HTTP status |
"""

from __future__ import annotations

import json
import re

from tests.fakes.model_server.arguments import instance
from tests.fakes.model_server.calls import first_calls, forced_call, next_call
from tests.fakes.model_server.conversation import Answer, Asked, Failure, Say, Step, Think, say

SLOW_PAUSE = 0.2
RESULT_LIMIT = 200
THOUGHTS = ("First ", "I ", "consider ", "the ", "request. ", "Then ", "I ", "answer.")
SIDE_HEAD = 300
"""Where to look for a side question: such prompts come to the point at once, an agent's own instructions do not."""

_COUNT = re.compile(r"\b(LONG|SLOW) (\d{1,5})\b")
_ERROR = re.compile(r"\bERROR ([45]\d\d)\b")
_SIDE = re.compile(r"\b(title|summari|topic|classif|suggest|compress|name coding)", re.IGNORECASE)


def answer(asked: Asked) -> Answer | Failure:
    if aside := _aside(asked):
        return aside
    if asked.results:
        return Answer((next_call(asked) or say(f"done: {asked.results[-1][:RESULT_LIMIT]}"),))
    if wanted := _ERROR.search(asked.words):
        return Failure(int(wanted[1]))
    if wanted := _COUNT.search(asked.words):
        pieces = tuple(f"w{index} " for index in range(int(wanted[2])))
        return Answer((Say(pieces),), SLOW_PAUSE if wanted[1] == "SLOW" else 0.0)
    thoughts = (Think(THOUGHTS),) if "THINK" in asked.words else ()
    return Answer((*thoughts, *_spoken(asked)))


def _aside(asked: Asked) -> Answer | None:
    """Agents ask for titles, summaries and verdicts between the user's turns: short, and in the shape they want."""
    if call := forced_call(asked):
        return Answer((call,))
    if asked.shape is not None:
        return Answer((say(json.dumps(instance(asked.shape))),))
    if not asked.tools and _SIDE.search((asked.system or asked.words)[:SIDE_HEAD]):
        return Answer((say("A short answer"),))
    return None


def _spoken(asked: Asked) -> tuple[Step, ...]:
    if "IMAGE?" in asked.words:
        kinds = ", ".join(asked.images) or "none"
        return (say(f"I see {len(asked.images)} image(s): {kinds}"),)
    return first_calls(asked) or (say(f"You said: {asked.words}"),)
