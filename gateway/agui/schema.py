"""Combinators that describe JSON, and read it by that description.

In: a parsed JSON value, its path in the request's body, and the `Findings` so far. Out: the value as understood: a null
in an optional position is gone, a field that is not described is kept. Mistakes and skipped parts go to `Findings`, so
that one reading reports all of them. Never: an exception, a coercion, a change of the value that was passed in.

    POINT = Object((Field("x", Number(0, 100), "a point has an x"), Field("label", Text())))

    findings = Findings()
    POINT.read({"x": 5, "label": None, "z": 1}, (), findings)   → {"x": 5, "z": 1}
    POINT.read({"x": "5"}, (), findings)                        → problem: "/x must be a number from 0 to 100, …"
    findings.raise_if_refused()                                 → BadInput, with every problem
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeAlias

from gateway import json_patch
from gateway.errors import BadInput
from gateway.events import Json
from gateway.turn import Notice

Path: TypeAlias = tuple[str | int, ...]
"""The keys and indexes that lead from the body to a value."""

MAX_LISTED_FINDINGS = 20
"""Problems, and notices, that are listed; the rest is counted. A body may have a million."""

MAX_QUOTED_CHARS = 80
"""Characters of a client's own text that an error message repeats."""

SKIPPED: Final = object()
"""The result for a value of a kind that this version does not know. The list around it goes on without it."""

UNWRITABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
"""Control characters and lone surrogates: no address, path or header can carry them."""


def quote_text(text: str) -> str:
    """A client's text, short enough for a sentence, and encodable: a lone surrogate would break the response."""
    short = text if len(text) <= MAX_QUOTED_CHARS else text[:MAX_QUOTED_CHARS] + "…"
    return short.encode("utf-8", "replace").decode("utf-8")


def json_pointer(path: Path) -> str:
    """The path as a JSON pointer (RFC 6901), each key as `quote_text` has it."""
    return json_patch.pointer(quote_text(str(key)) for key in path)


def name_type(value: Json) -> str:
    """The value's JSON type, with its article."""
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
    """The results of one reading: problems, which refuse the input, and notices, which do not."""

    problems: list[dict[str, str]] = field(default_factory=list)
    listed_notices: list[Notice] = field(default_factory=list)
    unlisted_problems: int = 0
    unlisted_notices: int = 0

    @property
    def is_full(self) -> bool:
        """Further problems are only counted."""
        return len(self.problems) == MAX_LISTED_FINDINGS

    @property
    def problem_count(self) -> int:
        return len(self.problems) + self.unlisted_problems

    def refuse(self, path: Path, message: str) -> None:
        """`message` continues a sentence that begins with the pointer: "must be a string, not a number"."""
        if self.is_full:
            self.unlisted_problems += 1
            return
        pointer = json_pointer(path)
        self.problems.append({"pointer": pointer, "message": f"{pointer or 'the body'} {message}"})

    def refuse_type(self, expected: str, value: Json, path: Path) -> None:
        self.refuse(path, f"must be {expected}, not {name_type(value)}")

    def notice(self, path: Path, code: str, message: str) -> None:
        """`message` continues a sentence that begins with the pointer."""
        if len(self.listed_notices) == MAX_LISTED_FINDINGS:
            self.unlisted_notices += 1
            return
        pointer = json_pointer(path)
        self.listed_notices.append(Notice(code, f"{pointer} {message}", pointer))

    @property
    def notices(self) -> tuple[Notice, ...]:
        if not self.unlisted_notices:
            return tuple(self.listed_notices)
        message = f"{self.unlisted_notices} more of the same kind are not listed"
        return (*self.listed_notices, Notice("MORE_NOTICES", message, ""))

    def raise_if_refused(self) -> None:
        """Raises `BadInput` if there is any problem."""
        if not self.problems:
            return
        first = self.problems[0]
        others = self.problem_count - 1
        more = f" (and {others} more, see errors)" if others else ""
        raise BadInput(first["message"] + more, pointer=first["pointer"], errors=self.problems)


class Schema(Protocol):
    """The description of one JSON value."""

    def read(self, value: Json, path: Path, findings: Findings) -> Json:
        """The value as understood, or `SKIPPED`. After a refusal the result has no meaning."""


@dataclass(frozen=True, slots=True)
class Anything:
    """Any JSON value, unchanged.

    Anything() reads [1, {"a": null}] as it is.
    """

    def read(self, value: Json, path: Path, findings: Findings) -> Json:
        return value


@dataclass(frozen=True, slots=True)
class Text:
    """Any string.

    Text() reads "" and "two\\nlines"; it refuses 5 with "must be a string, not a number".
    """

    def read(self, value: Json, path: Path, findings: Findings) -> Json:
        if not isinstance(value, str):
            findings.refuse_type("a string", value, path)
        return value


@dataclass(frozen=True, slots=True)
class Name:
    """A string that is neither empty nor long, and that can be written in an address or a path.

    Name(512, "it is a name") reads "run-1"; it refuses "" with "is empty: it is a name".
    """

    max_chars: int
    reason: str
    """Ends the sentence of a refusal."""

    def read(self, value: Json, path: Path, findings: Findings) -> Json:
        if not isinstance(value, str):
            findings.refuse_type("a string", value, path)
        elif not value:
            findings.refuse(path, f"is empty: {self.reason}")
        elif len(value) > self.max_chars:
            findings.refuse(path, f"has {len(value)} characters, at most {self.max_chars} are allowed: {self.reason}")
        elif UNWRITABLE.search(value):
            findings.refuse(path, f"has a control character or half a surrogate pair in it: {self.reason}")
        return value


@dataclass(frozen=True, slots=True)
class Flag:
    """true or false.

    Flag() refuses 1 and "true": nothing is coerced.
    """

    def read(self, value: Json, path: Path, findings: Findings) -> Json:
        if not isinstance(value, bool):
            findings.refuse_type("true or false", value, path)
        return value


@dataclass(frozen=True, slots=True)
class Number:
    """A number within bounds, both included.

    Number(0, 1000) reads 2.5; Number(1, 10, is_integer=True) refuses 2.5 with "must be a whole number from 1 to 10".
    """

    minimum: int
    maximum: int
    is_integer: bool = False

    def read(self, value: Json, path: Path, findings: Findings) -> Json:
        expected = f"a{' whole' if self.is_integer else ''} number from {self.minimum} to {self.maximum}"
        # In Python, unlike in JSON, true is a number.
        if isinstance(value, bool) or not isinstance(value, int | float):
            findings.refuse_type(expected, value, path)
        elif (self.is_integer and isinstance(value, float)) or not self.minimum <= value <= self.maximum:
            findings.refuse(path, f"must be {expected}")
        return value


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of some strings.

    OneOf(("low", "high")) refuses "mid" with 'must be "low" or "high", not "mid"'.
    """

    values: tuple[str, ...]

    def read(self, value: Json, path: Path, findings: Findings) -> Json:
        if not isinstance(value, str):
            findings.refuse_type(self._enumeration, value, path)
        elif value not in self.values:
            findings.refuse(path, f'must be {self._enumeration}, not "{quote_text(value)}"')
        return value

    @property
    def _enumeration(self) -> str:
        *others, last = (f'"{value}"' for value in self.values)
        return f"{', '.join(others)} or {last}" if others else last


@dataclass(frozen=True, slots=True)
class ListOf:
    """An array whose items have one schema. An item that reads as `SKIPPED` is left out.

    ListOf(Text(), max_items=2) refuses ["a", "b", "c"] with "has 3 items, at most 2 are allowed".
    """

    item: Schema
    max_items: int | None = None
    unique_key: str | None = None
    """A key of the items; no two items may have the same string under it."""

    def read(self, value: Json, path: Path, findings: Findings) -> Json:
        if not isinstance(value, list):
            findings.refuse_type("an array", value, path)
            return value
        if self.max_items is not None and len(value) > self.max_items:
            findings.refuse(path, f"has {len(value)} items, at most {self.max_items} are allowed")
            return value
        items = [self.item.read(item, (*path, index), findings) for index, item in enumerate(value)]
        if self.unique_key is not None:
            self._refuse_repeated(items, self.unique_key, path, findings)
        return [item for item in items if item is not SKIPPED]

    def _refuse_repeated(self, items: list[Json], key: str, path: Path, findings: Findings) -> None:
        first_index: dict[str, int] = {}
        for index, item in enumerate(items):
            text = item.get(key) if isinstance(item, dict) else None
            if isinstance(text, str) and first_index.setdefault(text, index) != index:
                first = json_pointer((*path, first_index[text], key))
                findings.refuse((*path, index, key), f"is the same as {first}")


@dataclass(frozen=True, slots=True)
class Field:
    """One described key of an `Object`.

    Field("id", Text(), "a message has an id") is required; Field("name", Text()) is optional.
    """

    key: str
    schema: Schema
    required_because: str | None = None
    """Why the key must be there; ends the sentence of its refusal. None: the key may be absent or null."""
    default: Json = None
    """The value of an absent key; None: it stays absent."""


@dataclass(frozen=True, slots=True)
class Object:
    """An object with described keys. Other keys are kept as they are, unless the object is closed.

    Object((Field("a", Flag()),)) reads {"a": true, "b": 1} as it is; with is_closed=True it refuses /b, and names the
    keys that it knows.
    """

    fields: tuple[Field, ...] = ()
    is_closed: bool = False

    def read(self, value: Json, path: Path, findings: Findings) -> Json:
        if not isinstance(value, dict):
            findings.refuse_type("an object", value, path)
            return value
        if self.is_closed:
            self._refuse_unknown_keys(value, path, findings)
        result = dict(value)
        is_known = True
        for described in self.fields:
            is_known = self._read_field(described, result, path, findings) and is_known
        return result if is_known else SKIPPED

    def _read_field(self, described: Field, result: dict[str, Json], path: Path, findings: Findings) -> bool:
        """Puts the field's value as understood into `result`. False if it is `SKIPPED`, and so the object too."""
        key = described.key
        if result.get(key) is not None:
            result[key] = described.schema.read(result[key], (*path, key), findings)
        elif described.required_because is not None:
            findings.refuse((*path, key), f"is {'null' if key in result else 'missing'}: {described.required_because}")
        elif described.default is not None:
            result.setdefault(key, described.default)
            result[key] = described.schema.read(result[key], (*path, key), findings)
        else:
            result.pop(key, None)
        return result.get(key) is not SKIPPED

    def _refuse_unknown_keys(self, value: dict[str, Json], path: Path, findings: Findings) -> None:
        known = [described.key for described in self.fields]
        for key in value:
            if key not in known:
                # The search for a close match is slow, and only listed problems show it: a body may have a million.
                findings.refuse((*path, key), "" if findings.is_full else _explain_unknown_key(key, known))


def _explain_unknown_key(key: str, known: list[str]) -> str:
    close = difflib.get_close_matches(key[:MAX_QUOTED_CHARS], known, n=2)
    suggestion = f"did you mean {' or '.join(close)}? " if close else ""
    return f"is not known here: {suggestion}known are {', '.join(known)}"


@dataclass(frozen=True, slots=True)
class TaggedUnion:
    """An object of one of several schemas, chosen by the string under `tag`. One with an unknown tag is newer than this
    version: it is skipped with a notice.

    TaggedUnion("type", {"text": TEXT_PART}, code="UNKNOWN_PART", skipped_noun="content part")
    """

    tag: str
    arms: Mapping[str, Schema]
    code: str
    """The notice's code for an unknown tag."""
    skipped_noun: str
    """What the notice says is left out."""

    def read(self, value: Json, path: Path, findings: Findings) -> Json:
        if not isinstance(value, dict):
            findings.refuse_type("an object", value, path)
            return value
        tag = value.get(self.tag)
        tag_path = (*path, self.tag)
        if tag is None:
            findings.refuse(tag_path, f"is {'null' if self.tag in value else 'missing'}: it says which kind this is")
            return value
        if not isinstance(tag, str):
            findings.refuse_type("a string", tag, tag_path)
            return value
        arm = self.arms.get(tag)
        if arm is None:
            message = f'"{quote_text(tag)}" is not known here: the {self.skipped_noun} is left out'
            findings.notice(tag_path, self.code, message)
            return SKIPPED
        return arm.read(value, path, findings)


@dataclass(frozen=True, slots=True)
class TextOrList:
    """A string, or an array.

    TextOrList(ListOf(PART), "content parts") reads "hello" and [{"type": "text", "text": "hello"}].
    """

    items: ListOf
    noun: str

    def read(self, value: Json, path: Path, findings: Findings) -> Json:
        if isinstance(value, str):
            return value
        if isinstance(value, list):
            return self.items.read(value, path, findings)
        findings.refuse_type(f"a string or an array of {self.noun}", value, path)
        return value
