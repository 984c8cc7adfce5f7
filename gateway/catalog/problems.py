"""What is wrong with a definition: each thing at its key, in the author's own spelling, and what was probably meant."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches

Place = tuple[int | str, ...]

MOST_READ = 64
"""Characters of a name that are compared: no name of ours is as long, and comparing is slow."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a definition."""

    place: Place
    """The key, from the top."""
    message: str

    @property
    def pointer(self) -> str:
        return "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in self.place)

    @property
    def text(self) -> str:
        key = ".".join(str(part) for part in self.place)
        return f"{key}: {self.message}" if key else self.message


def place_of(loc: Place) -> Place:
    """Of pydantic's location: it marks a name that is wrong itself by one more part, which no file has."""
    return loc[:-1] if loc[-1:] == ("[key]",) else loc


def meant(name: str, known: Iterable[str]) -> str | None:
    """The known name nearest to a misspelt one, or two that are; None: none is near."""
    names = {each.lower(): each for each in known}
    return " or ".join(names[near] for near in get_close_matches(name[:MOST_READ].lower(), names, n=2)) or None
