"""What a model is asked and what it answers, in no provider's shape.

In: nothing. Out: the few words that the four wire formats and the script share. It decides nothing and encodes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

Json: TypeAlias = dict[str, Any]

MODELS = ("scripted-model", "gpt-5", "claude-sonnet-5", "gemini-2.5-flash")
"""What the lists of models tell; any other name is answered just as well."""

WRAPPERS = "task|user_message|user_query|user_input|user_request|message|query|feedback"
"""Tags that some agents put around the user's own words. Every other pair of tags is the agent talking to the model."""

_WRAPPER = re.compile(rf"</?(?:{WRAPPERS})\b[^>]*>")
_ASIDE = re.compile(
    r"<([A-Za-z][\w-]*)\b[^>]*>.*?</\1>|<<<BEGIN_(\w+)>>>.*?<<<END_\2>>>"
    r"|^\[\w{3} \d{4}-\d\d-\d\d \d\d:\d\d \S+\] |^Runtime: agent=[^\n]*$",  # openclaw: when, and where
    re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that the request offers."""

    name: str
    schema: Json
    kind: Literal["function", "free", "search"] = "function"
    """`free` takes a text instead of arguments; `search` is OpenAI's own way to ask for tools that are held back."""
    space: str | None = None
    """The namespace it was offered in, where the format has such a thing."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One request, read."""

    words: str
    """The user's newest message, without what the agent wrapped around it."""
    results: tuple[str, ...] = ()
    """What tools have answered since."""
    searched: bool = False
    """Tools that were held back have been asked for since."""
    images: tuple[str, ...] = ()
    """The kinds of the images in the newest message."""
    tools: tuple[Tool, ...] = ()
    system: str = ""
    shape: Json | None = None
    """The schema that the answer has to follow."""
    forced: str | None = None
    """The tool that has to be called."""
    stream: bool = False


@dataclass(frozen=True, slots=True)
class Think:
    pieces: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Say:
    pieces: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Call:
    tool: Tool
    arguments: Json
    text: str = ""
    """Instead of arguments, for a tool that takes a text."""


Step: TypeAlias = Think | Say | Call


@dataclass(frozen=True, slots=True)
class Answer:
    steps: tuple[Step, ...]
    pause: float = 0.0
    """Seconds before each frame of the stream."""

    @property
    def calls(self) -> bool:
        return any(isinstance(step, Call) for step in self.steps)

    @property
    def tokens(self) -> int:
        """A token for a piece, and a dozen for a call."""
        return sum(12 if isinstance(step, Call) else len(step.pieces) for step in self.steps)


@dataclass(frozen=True, slots=True)
class Failure:
    """No answer but an HTTP status."""

    status: int


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer with what every format tells beside it."""

    id: str
    model: str
    answer: Answer
    input_tokens: int
    options: Json
    """Of the request: the formats have switches for what a stream tells."""


@dataclass(frozen=True, slots=True)
class Wire:
    """One provider's format."""

    read: Callable[[Json], Asked]
    stream: Callable[[Reply], Iterator[bytes]]
    whole: Callable[[Reply], Any]
    failure: Callable[[int], Json]


def say(text: str) -> Say:
    """A piece for a word."""
    return Say(tuple(re.findall(r"\S+\s*|\s+", text)))


def own_words(texts: list[str]) -> str:
    """The user's words out of the parts of a message: what stands in tags is the agent's."""
    kept = (_ASIDE.sub("", _WRAPPER.sub("", text)).strip() for text in texts)
    return "\n".join(text for text in kept if text)


def event(data: bytes, name: str | None = None) -> bytes:
    """One server-sent event."""
    head = b"" if name is None else b"event: " + name.encode() + b"\n"
    return head + b"data: " + data + b"\n\n"
