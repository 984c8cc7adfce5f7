"""A mistake in a definition: its key, in the author's spelling, and a message with the name that was probably meant."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches

Place = tuple[int | str, ...]
"""Where a key is: its path from the top of the definition."""

MAX_COMPARED_CHARS = 64
"""Characters of a name that are compared: no known name is longer, and comparing is slow."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake in a definition."""

    place: Place
    message: str

    @property
    def pointer(self) -> str:
        """The place as a JSON pointer (RFC 6901)."""
        return "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in self.place)

    @property
    def text(self) -> str:
        """`models.2.price: must be a table`."""
        key = ".".join(str(part) for part in self.place)
        return f"{key}: {self.message}" if key else self.message


def read_place(loc: Place) -> Place:
    """The place of a pydantic error. Pydantic marks a wrong key with one more part, which is in no file."""
    return loc[:-1] if loc[-1:] == ("[key]",) else loc


def suggest_name(name: str, known: Iterable[str]) -> str | None:
    """The known name that is most similar to a misspelt one, or two of them; None: none is similar."""
    names = {each.lower(): each for each in known}
    matches = get_close_matches(name[:MAX_COMPARED_CHARS].lower(), names, n=2)
    return " or ".join(names[match] for match in matches) or None
