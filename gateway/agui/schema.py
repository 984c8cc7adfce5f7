"""Readers for JSON values, from which a table of shapes is built.

In: a parsed JSON value, its place in the body, and the findings so far. Out: the value as it was understood: a null in
an optional position is gone, a field nobody described is kept. What is wrong, and what was skipped, goes to `Findings`,
so that one reading tells everything. A reader never raises, never coerces, never changes the value it was given.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeAlias

from gateway.errors import BadInput
from gateway.events import Json
from gateway.json_patch import pointer as json_pointer
from gateway.turn import Notice

Place: TypeAlias = tuple[str | int, ...]
"""The keys and indexes that lead from the body to a value."""

MOST_TOLD = 20
"""Problems, and notices, told one by one; the rest is counted. A body may hold a million."""

MOST_SHOWN = 80
"""Characters of a client's own word that an error repeats."""

LEFT_OUT: Final = object()
"""What a value reads as that is newer than us: the list it stands in goes on without it."""

UNWRITABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
"""Control characters and lone surrogates: no address, path or header can carry them."""


def truncated(word: str) -> str:
    """A client's word, short enough for a sentence and encodable: a lone surrogate would break the answer."""
    short = word if len(word) <= MOST_SHOWN else word[:MOST_SHOWN] + "…"
    return short.encode("utf-8", "replace").decode("utf-8")


def pointer(at: Place) -> str:
    """The place as a JSON pointer (RFC 6901). A key that is no fit for a sentence stands there as `truncated`."""
    return json_pointer(truncated(str(step)) for step in at)


def kind(value: Json) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case str():
            return "a string"
        case list():
            return "an array"
        case dict():
            return "an object"
        case _:
            return "a number"


@dataclass(slots=True)
class Findings:
    """What a reading came across: problems, which refuse the input, and notices, which do not."""

    problems: list[dict[str, str]] = field(default_factory=list)
    told: list[Notice] = field(default_factory=list)
    more_problems: int = 0
    more_notices: int = 0

    @property
    def full(self) -> bool:
        """Further problems are only counted."""
        return len(self.problems) == MOST_TOLD

    @property
    def count(self) -> int:
        """How many problems there are."""
        return len(self.problems) + self.more_problems

    def refuse(self, at: Place, says: str) -> None:
        """`says` goes on from the pointer: "must be a string, not a number"."""
        if self.full:
            self.more_problems += 1
            return
        where = pointer(at)
        self.problems.append({"pointer": where, "message": f"{where or 'the body'} {says}"})

    def expected(self, what: str, value: Json, at: Place) -> None:
        self.refuse(at, f"must be {what}, not {kind(value)}")

    def notice(self, at: Place, code: str, says: str) -> None:
        if len(self.told) == MOST_TOLD:
            self.more_notices += 1
            return
        where = pointer(at)
        self.told.append(Notice(code, f"{where} {says}", where))

    @property
    def notices(self) -> tuple[Notice, ...]:
        if not self.more_notices:
            return tuple(self.told)
        return (*self.told, Notice("MORE_NOTICES", f"{self.more_notices} more of the same kind are not listed", ""))

    def settle(self) -> None:
        """Refuse the input if anything is wrong with it."""
        if not self.problems:
            return
        first, others = self.problems[0], self.count - 1
        more = f" (and {others} more, see errors)" if others else ""
        raise BadInput(first["message"] + more, pointer=first["pointer"], errors=self.problems)


class Shape(Protocol):
    def read(self, value: Json, at: Place, found: Findings) -> Json:
        """The value as understood, or `LEFT_OUT`. After a refusal the result means nothing."""


@dataclass(frozen=True, slots=True)
class Anything:
    def read(self, value: Json, at: Place, found: Findings) -> Json:
        return value


@dataclass(frozen=True, slots=True)
class Text:
    """Any string."""

    def read(self, value: Json, at: Place, found: Findings) -> Json:
        if not isinstance(value, str):
            found.expected("a string", value, at)
        return value


@dataclass(frozen=True, slots=True)
class Line:
    """A name: a string that is not empty, not long, and that can be written in an address or a path."""

    most: int
    because: str

    def read(self, value: Json, at: Place, found: Findings) -> Json:
        if not isinstance(value, str):
            found.expected("a string", value, at)
        elif not value:
            found.refuse(at, f"is empty: {self.because}")
        elif len(value) > self.most:
            found.refuse(at, f"has {len(value)} characters, at most {self.most} are allowed: {self.because}")
        elif UNWRITABLE.search(value):
            found.refuse(at, f"has a control character or half a surrogate pair in it: {self.because}")
        return value


@dataclass(frozen=True, slots=True)
class Flag:
    def read(self, value: Json, at: Place, found: Findings) -> Json:
        if not isinstance(value, bool):
            found.expected("true or false", value, at)
        return value


@dataclass(frozen=True, slots=True)
class Number:
    least: int
    most: int
    whole: bool = False

    def read(self, value: Json, at: Place, found: Findings) -> Json:
        what = f"a{' whole' if self.whole else ''} number from {self.least} to {self.most}"
        # To Python, and only to Python, true is a number.
        if isinstance(value, bool) or not isinstance(value, int | float):
            found.expected(what, value, at)
        elif (self.whole and isinstance(value, float)) or not self.least <= value <= self.most:
            found.refuse(at, f"must be {what}")
        return value


@dataclass(frozen=True, slots=True)
class Choice:
    words: tuple[str, ...]

    def read(self, value: Json, at: Place, found: Findings) -> Json:
        if not isinstance(value, str):
            found.expected(self._list, value, at)
        elif value not in self.words:
            found.refuse(at, f'must be {self._list}, not "{truncated(value)}"')
        return value

    @property
    def _list(self) -> str:
        *others, last = (f'"{word}"' for word in self.words)
        return f"{', '.join(others)} or {last}" if others else last


@dataclass(frozen=True, slots=True)
class ListOf:
    item: Shape
    most: int | None = None
    unique: str | None = None
    """A key whose string no two items may share."""

    def read(self, value: Json, at: Place, found: Findings) -> Json:
        if not isinstance(value, list):
            found.expected("an array", value, at)
            return value
        if self.most is not None and len(value) > self.most:
            found.refuse(at, f"has {len(value)} items, at most {self.most} are allowed")
            return value
        items = [self.item.read(item, (*at, index), found) for index, item in enumerate(value)]
        if self.unique is not None:
            self._tell_repeated(items, self.unique, at, found)
        return [item for item in items if item is not LEFT_OUT]

    def _tell_repeated(self, items: list[Json], key: str, at: Place, found: Findings) -> None:
        first: dict[str, int] = {}
        for index, item in enumerate(items):
            word = item.get(key) if isinstance(item, dict) else None
            if isinstance(word, str) and first.setdefault(word, index) != index:
                found.refuse((*at, index, key), f"is the same as {pointer((*at, first[word], key))}")


@dataclass(frozen=True, slots=True)
class Field:
    """One described key of an object."""

    key: str
    shape: Shape
    needed: str | None = None
    """Why the key must be there, for the sentence of its refusal; None: it may be left out."""
    default: Json = None
    """What an absent key reads as; None: it stays absent."""


@dataclass(frozen=True, slots=True)
class Object:
    """An object with described keys. Of others it keeps what they hold, unless it is `closed`."""

    fields: tuple[Field, ...] = ()
    closed: bool = False

    def read(self, value: Json, at: Place, found: Findings) -> Json:
        if not isinstance(value, dict):
            found.expected("an object", value, at)
            return value
        if self.closed:
            self._refuse_unknown(value, at, found)
        read = dict(value)
        whole = True
        for described in self.fields:
            whole = self._read_field(described, read, at, found) and whole
        return read if whole else LEFT_OUT

    def _read_field(self, described: Field, read: dict[str, Json], at: Place, found: Findings) -> bool:
        """Put the field's value as understood into `read`. False: it is newer than us, so the object is too."""
        key = described.key
        if read.get(key) is not None:
            read[key] = described.shape.read(read[key], (*at, key), found)
        elif described.needed is not None:
            found.refuse((*at, key), f"is {'null' if key in read else 'missing'}: {described.needed}")
        elif described.default is not None:
            read.setdefault(key, described.default)
            read[key] = described.shape.read(read[key], (*at, key), found)
        else:
            read.pop(key, None)
        return read.get(key) is not LEFT_OUT

    def _refuse_unknown(self, value: dict[str, Json], at: Place, found: Findings) -> None:
        known = [described.key for described in self.fields]
        for key in value:
            if key not in known:
                # Looking for a close match is slow: not for a body of a million wrong keys.
                found.refuse((*at, key), "" if found.full else _unknown(key, known))


def _unknown(key: str, known: list[str]) -> str:
    close = difflib.get_close_matches(key[:MOST_SHOWN], known, n=2)
    meant = f"did you mean {' or '.join(close)}? " if close else ""
    return f"is not known here: {meant}known are {', '.join(known)}"


@dataclass(frozen=True, slots=True)
class Tagged:
    """An object of one of several shapes, told apart by the string under `tag`. An unknown one is newer than us."""

    tag: str
    arms: Mapping[str, Shape]
    code: str
    """The notice's code when the tag is unknown."""
    loses: str
    """What is left out then."""

    def read(self, value: Json, at: Place, found: Findings) -> Json:
        if not isinstance(value, dict):
            found.expected("an object", value, at)
            return value
        tag, place = value.get(self.tag), (*at, self.tag)
        if tag is None:
            found.refuse(place, f"is {'null' if self.tag in value else 'missing'}: it says which kind this is")
            return value
        if not isinstance(tag, str):
            found.expected("a string", tag, place)
            return value
        arm = self.arms.get(tag)
        if arm is None:
            found.notice(place, self.code, f'"{truncated(tag)}" is not known here: the {self.loses} is left out')
            return LEFT_OUT
        return arm.read(value, at, found)


@dataclass(frozen=True, slots=True)
class TextOr:
    """A string, or an array of something."""

    items: ListOf
    what: str

    def read(self, value: Json, at: Place, found: Findings) -> Json:
        if isinstance(value, str):
            return value
        if isinstance(value, list):
            return self.items.read(value, at, found)
        found.expected(f"a string or an array of {self.what}", value, at)
        return value
