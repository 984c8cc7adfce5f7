"""Removes omp's own argument `i` from arguments while they stream.

omp has the model describe each call in an argument `i`, which no tool ever gets. In: pieces of the JSON text, cut
anywhere. Out: the pieces without that member of the outermost object, still one JSON text, each as early as possible. A
text that is not an object passes unchanged.
"""

from __future__ import annotations

INTENT = "i"
WHITESPACE = " \t\r\n"


class IntentFilter:
    def __init__(self) -> None:
        self._is_started = False
        self._is_passing = False
        """All that follows passes unchanged: the text is no object, or `i` has been removed."""
        self._depth = 0
        self._in_string = False
        self._is_escaped = False
        self._name: list[str] | None = None
        """The start of a member, up to the end of its name; None: the name is complete."""
        self._is_removing = False
        self._has_removed = False
        self._member_count = 0
        """Members that have been passed on."""

    def feed(self, piece: str) -> str:
        if not self._is_started:
            piece = piece.lstrip(WHITESPACE)
            self._is_started = bool(piece)
            self._is_passing = piece[:1] != "{"
        if self._is_passing:
            return piece
        output: list[str] = []
        for position, char in enumerate(piece, 1):
            self._read_char(char, output)
            if self._has_removed and not self._is_removing and self._name is None:
                self._is_passing = True
                output.append(piece[position:])
                break
        return "".join(output)

    def _read_char(self, char: str, output: list[str]) -> None:
        if self._name is not None:
            self._read_name_char(char, self._name, output)
        else:
            self._read_value_char(char, output)

    def _read_name_char(self, char: str, name: list[str], output: list[str]) -> None:
        if not self._in_string and char == "}":
            self._name = None
            self._end_object(output)
        elif not self._in_string and char == ":":
            self._end_name("".join(name), output)
        elif self._in_string or char not in WHITESPACE:
            name.append(char)
            self._track_string(char)

    def _end_name(self, name: str, output: list[str]) -> None:
        self._name = None
        self._is_removing = name == f'"{INTENT}"'
        self._has_removed = self._has_removed or self._is_removing
        if not self._is_removing:
            output.append(f"{', ' if self._member_count else ''}{name}:")
            self._member_count += 1

    def _read_value_char(self, char: str, output: list[str]) -> None:
        was_in_string = self._in_string
        self._track_string(char)
        if not was_in_string and char in "[{":
            self._depth += 1
        elif not was_in_string and char in "]}":
            self._depth -= 1
        if not was_in_string and self._depth == 1 and char in ",{":
            self._name = []
        if not was_in_string and self._depth == 0 and char == "}":
            self._end_object(output)
        elif not self._is_removing and (self._name is None or char == "{"):
            output.append(char)

    def _end_object(self, output: list[str]) -> None:
        self._depth = 0
        self._is_removing = False
        output.append("}")

    def _track_string(self, char: str) -> None:
        if self._is_escaped:
            self._is_escaped = False
        elif char == "\\":
            self._is_escaped = self._in_string
        elif char == '"':
            self._in_string = not self._in_string
