"""Word in the prompt → scene: the table at the end has them all, in the order in which they are looked for.

In: a `Turn`. Out: the scene to play. `help` is made from the table, so it tells of every word there is.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import TypeAlias

from gateway.events import Event
from gateway.turn import Turn

from .asking import approve, form, two_approvals
from .delegating import subagent
from .ending import crash, error, usage
from .frontend import answered, frontend
from .seeing import image, media
from .sharing import custom, plan, state
from .talking import long, slow, think
from .tools import tool, tools
from .voice import say
from .working import edit, markdown

Play: TypeAlias = Callable[[Turn], AsyncIterator[Event]]

PROMPT_CHARS = 10_000
"""Nobody says a magic word later than here."""
REPEATED_CHARS = 120
BEST = ("help", "everything", "approve", "edit", "form", "think")
"""What to try first."""


@dataclass(frozen=True, slots=True)
class Scene:
    play: Play
    shows: str
    """What it shows, in one line: an entry of `help`."""
    changes: bool = False
    """It deletes or edits, or says so: not in the mode `plan`."""


def scene_for(turn: Turn) -> Play:
    """The first scene of the table that has a word of the newest user message."""
    if turn.tool_results:
        return answered
    if not turn.text.strip() and not media(turn):
        return help_
    said = f" {' '.join(re.findall(r'[a-z0-9]+', turn.text[:PROMPT_CHARS].lower()))} "
    for words, scene in SCENES.items():
        if any(f" {word} " in said for word in words) or (scene.play is image and media(turn)):
            return only_planned if scene.changes and turn.options.mode == "plan" else scene.play
    return otherwise


def commands() -> list[dict[str, str]]:
    """Every scene by its first word, the best first: what a frontend offers behind `/`."""
    named = {words[0]: scene.shows for words, scene in SCENES.items()}
    return [
        {"name": word.replace(" ", "-"), "description": named[word]}
        for word in sorted(named, key=lambda word: BEST.index(word) if word in BEST else len(BEST))
    ]


async def help_(turn: Turn) -> AsyncIterator[Event]:
    lines = [f"- {', '.join(f'`{word}`' for word in words)}: {scene.shows}" for words, scene in SCENES.items()]
    async for event in say(
        "Hello! I am the demo: no model, no cost, no harm done. Say one of these words, "
        "and I show you what an agent can send to a frontend:\n\n" + "\n".join(lines) + "\n\nTry `everything` first."
    ):
        yield event


async def only_planned(turn: Turn) -> AsyncIterator[Event]:
    async for event in say("I would know what to do, but in the mode Plan I change nothing. Set another, and I begin."):
        yield event


async def otherwise(turn: Turn) -> AsyncIterator[Event]:
    said = " ".join(turn.text[:PROMPT_CHARS].split())
    said = said if len(said) <= REPEATED_CHARS else f"{said[:REPEATED_CHARS]}…"
    async for event in say(
        f"You said: “{said}”. Well put! I am only a demo, though, and know a few plain words: say `help` to see them."
    ):
        yield event


async def everything(turn: Turn) -> AsyncIterator[Event]:
    async for event in say("The grand tour! Words, thoughts, tools, state, a plan, a helper, and at last the bill."):
        yield event
    for play in (think, tools, state, plan, subagent, usage):
        async for event in play(turn):
            yield event


SCENES: dict[tuple[str, ...], Scene] = {
    ("help",): Scene(help_, "this list"),
    ("think", "reason"): Scene(think, "thinking aloud, then an answer"),
    ("tools", "parallel"): Scene(tools, "two tool calls at once"),
    ("tool",): Scene(tool, "one tool call, its arguments piece by piece"),
    ("approve", "delete"): Scene(approve, "a tool call that waits for your yes, no or corrections", changes=True),
    ("two approvals",): Scene(two_approvals, "two such calls, both waiting", changes=True),
    ("form",): Scene(form, "a question with a form to fill in"),
    ("markdown",): Scene(markdown, "an answer with a heading, lists, a table and code"),
    ("edit", "diff"): Scene(edit, "a change with its diff, and a command that prints as it runs", changes=True),
    ("frontend", "color"): Scene(frontend, "a call of a tool that your page brings along"),
    ("state",): Scene(state, "state shared with your page: a snapshot, then patches"),
    ("plan", "activity"): Scene(plan, "a plan beside the conversation, ticked off entry by entry"),
    ("subagent",): Scene(subagent, "a helper with words, steps and a tool call of its own"),
    ("image",): Scene(image, "a picture; or attach an image, a sound, a video or a document, and I describe it"),
    ("usage",): Scene(usage, "the tokens of two models"),
    ("long",): Scene(long, "2,000 small pieces as fast as they go; `long 200000` for many more"),
    ("slow",): Scene(slow, "ten words, one at a time, to stop or to leave and come back; `slow 600` for many more"),
    ("custom",): Scene(custom, "a custom event and a raw one"),
    ("error",): Scene(error, "a run that fails and says why"),
    ("crash",): Scene(crash, "an agent that breaks in the middle of a sentence"),
    ("everything",): Scene(everything, "most of these, one after another"),
}
