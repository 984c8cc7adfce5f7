"""Arguments as they stream, without omp's own `i`.

omp has the model say in a few words what each call is for, in an argument `i` of its own that no tool ever sees. In:
pieces of the JSON, in any cut. Out: the pieces without that member of the outermost object, still one JSON text, each
as early as it can be told. What is not an object goes through as it is.
"""

from __future__ import annotations

INTENT = "i"
SPACE = " \t\r\n"


class WithoutIntent:
    def __init__(self) -> None:
        self._begun = False
        self._plain = False
        """Nothing is looked for: it is no object, or `i` was found."""
        self._depth = 0
        self._quoted = self._escaped = False
        self._key: list[str] | None = None
        """A member's beginning, up to the end of its name; None: its name is known."""
        self._dropping = self._dropped = False
        self._told = 0
        """Members so far that were handed on."""

    def feed(self, piece: str) -> str:
        if not self._begun:
            piece = piece.lstrip(SPACE)
            self._begun, self._plain = bool(piece), piece[:1] != "{"
        if self._plain:
            return piece
        out: list[str] = []
        for at, char in enumerate(piece, 1):
            if self._take(char, out):
                self._plain = True
                out.append(piece[at:])
                break
        return "".join(out)

    def _take(self, char: str, out: list[str]) -> bool:
        """True: there is nothing left to look for."""
        if self._key is not None:
            self._in_name(char, self._key, out)
        else:
            self._in_value(char, out)
        return self._dropped and not self._dropping and self._key is None

    def _in_name(self, char: str, name: list[str], out: list[str]) -> None:
        if not self._quoted and char == "}":
            self._key = None
            self._close(out)
        elif not self._quoted and char == ":":
            self._name_read("".join(name), out)
        elif self._quoted or char not in SPACE:
            name.append(char)
            self._quote(char)

    def _name_read(self, name: str, out: list[str]) -> None:
        self._key, self._dropping = None, name == f'"{INTENT}"'
        self._dropped = self._dropped or self._dropping
        if not self._dropping:
            out.append(f"{', ' if self._told else ''}{name}:")
            self._told += 1

    def _in_value(self, char: str, out: list[str]) -> None:
        inside = self._quoted
        self._quote(char)
        if not inside and char in "[{":
            self._depth += 1
        elif not inside and char in "]}":
            self._depth -= 1
        if not inside and self._depth == 1 and char in ",{":
            self._key = []
        if not inside and self._depth == 0 and char == "}":
            self._close(out)
        elif not self._dropping and (self._key is None or char == "{"):
            out.append(char)

    def _close(self, out: list[str]) -> None:
        self._depth = 0
        self._dropping = False
        out.append("}")

    def _quote(self, char: str) -> None:
        if self._escaped:
            self._escaped = False
        elif char == "\\":
            self._escaped = self._quoted
        elif char == '"':
            self._quoted = not self._quoted
