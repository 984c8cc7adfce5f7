"""Keyword in the prompt → scene. The table at the end lists them all, in the order in which they are tried.

In: a `Turn`. Out: the scene to play. `help` is made from the table, so it lists every keyword.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import TypeAlias

from gateway import Event, Turn

from .approvals import approve, form, two_approvals
from .attachments import image, media_parts
from .client_tools import frontend, report_results
from .coding import edit, markdown
from .outcomes import crash, error, usage
from .shared_state import custom, plan, state
from .streams import say
from .subagents import subagent
from .text_messages import long, slow, think
from .tools import tool, tools

Play: TypeAlias = Callable[[Turn], AsyncIterator[Event]]

MAX_PROMPT_CHARS = 10_000
"""Keywords further back in the prompt are not looked for."""
MAX_REPEATED_CHARS = 120
FIRST_COMMANDS = ("help", "everything", "approve", "edit", "form", "think")
"""Scenes to try first."""


@dataclass(frozen=True, slots=True)
class Scene:
    play: Play
    summary: str
    """What it shows, in one line of `help`."""
    makes_changes: bool = False
    """It deletes or edits, or pretends to: not played in the mode `plan`."""


def scene_for(turn: Turn) -> Play:
    """The first scene of the table that has a keyword in the newest user message."""
    if turn.tool_results:
        return report_results
    if not turn.text.strip() and not media_parts(turn):
        return help_
    prompt = f" {' '.join(re.findall(r'[a-z0-9]+', turn.text[:MAX_PROMPT_CHARS].lower()))} "
    for keywords, scene in SCENES.items():
        if any(f" {keyword} " in prompt for keyword in keywords) or (scene.play is image and media_parts(turn)):
            return refuse_changes if scene.makes_changes and turn.options.mode == "plan" else scene.play
    return repeat_prompt


def list_commands() -> list[dict[str, str]]:
    """Every scene by its first keyword, those to try first at the top: a frontend offers them behind `/`."""
    summaries = {keywords[0]: scene.summary for keywords, scene in SCENES.items()}
    ranks = {keyword: rank for rank, keyword in enumerate(FIRST_COMMANDS)}
    return [
        {"name": keyword.replace(" ", "-"), "description": summaries[keyword]}
        for keyword in sorted(summaries, key=lambda keyword: ranks.get(keyword, len(ranks)))
    ]


async def help_(turn: Turn) -> AsyncIterator[Event]:
    lines = [
        f"- {', '.join(f'`{keyword}`' for keyword in keywords)}: {scene.summary}" for keywords, scene in SCENES.items()
    ]
    async for event in say(
        "Hello! I am the demo: no model, no cost, no harm done. Write one of these keywords, "
        "and I show you what an agent can send to a frontend:\n\n" + "\n".join(lines) + "\n\nTry `everything` first."
    ):
        yield event


async def refuse_changes(turn: Turn) -> AsyncIterator[Event]:
    async for event in say("I know what to do, but in the mode Plan I change nothing. Choose another mode to begin."):
        yield event


async def repeat_prompt(turn: Turn) -> AsyncIterator[Event]:
    prompt = " ".join(turn.text[:MAX_PROMPT_CHARS].split())
    prompt = prompt if len(prompt) <= MAX_REPEATED_CHARS else f"{prompt[:MAX_REPEATED_CHARS]}…"
    async for event in say(
        f"You said: “{prompt}”. I am only a demo and know a few keywords: write `help` to see them."
    ):
        yield event


async def everything(turn: Turn) -> AsyncIterator[Event]:
    async for event in say("The grand tour: text, reasoning, tools, state, a plan, a subagent and token usage."):
        yield event
    for play in (think, tools, state, plan, subagent, usage):
        async for event in play(turn):
            yield event


SCENES: dict[tuple[str, ...], Scene] = {
    ("help",): Scene(help_, "this list"),
    ("think", "reason"): Scene(think, "reasoning, then an answer"),
    ("tools", "parallel"): Scene(tools, "two tool calls at once"),
    ("tool",): Scene(tool, "one tool call, its arguments piece by piece"),
    ("approve", "delete"): Scene(approve, "a tool call that waits for your approval", makes_changes=True),
    ("two approvals",): Scene(two_approvals, "two such calls, both waiting", makes_changes=True),
    ("form",): Scene(form, "a form to fill in"),
    ("markdown",): Scene(markdown, "an answer with a heading, lists, a table and code"),
    ("edit", "diff"): Scene(edit, "a change with its diff, and a command that prints as it runs", makes_changes=True),
    ("frontend", "color"): Scene(frontend, "a call of a tool that your page provides"),
    ("state",): Scene(state, "state shared with your page: a snapshot, then patches"),
    ("plan", "activity"): Scene(plan, "a plan beside the conversation, its entries completed one by one"),
    ("subagent",): Scene(subagent, "a subagent with messages, steps and a tool call of its own"),
    ("image",): Scene(image, "a picture; or attach an image, audio, a video or a document, and I describe it"),
    ("usage",): Scene(usage, "the token counts of two models"),
    ("long",): Scene(long, "2,000 small pieces as fast as possible; `long 200000` for many more"),
    ("slow",): Scene(slow, "ten words, one at a time: stop, or disconnect and come back; `slow 600` for many more"),
    ("custom",): Scene(custom, "a custom event and a raw one"),
    ("error",): Scene(error, "a run that fails and reports why"),
    ("crash",): Scene(crash, "an agent that raises an exception in the middle of a sentence"),
    ("everything",): Scene(everything, "most of these, one after another"),
}
