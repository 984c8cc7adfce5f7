"""Files of a session, for `fs/*`: inside its roots after links are resolved, whatever happens between check and use.

A path is resolved first, held against the roots, and then walked from the root with every step refusing to follow a
link: so a link that is put in place meanwhile leads nowhere.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import StringIO
from pathlib import Path

READ_LIMIT = 50 * 1024 * 1024


class Outside(Exception):
    """The path is not in the workspace."""


class Missing(Exception):
    """There is no such file."""


class Unfit(Exception):
    """It is there, but no file to be read or written as text."""


class Workspace:
    def __init__(self, roots: Sequence[Path]) -> None:
        self._roots = tuple(Path(os.path.realpath(root)) for root in roots)

    @property
    def roots(self) -> tuple[Path, ...]:
        return self._roots

    def resolve(self, path: str) -> tuple[Path, Path]:
        """(root, path below it), links resolved. Raises `Outside`."""
        if not os.path.isabs(path) or "\0" in path:
            raise Outside(f"{path!r} is not an absolute path")
        real = Path(os.path.realpath(path))
        for root in self._roots:
            if real == root or root in real.parents:
                return root, real.relative_to(root)
        raise Outside(f"{path!r} is outside the workspace ({', '.join(str(root) for root in self._roots)})")

    def read_text(self, path: str, line: int | None = None, limit: int | None = None) -> str:
        """The text, or `limit` lines of it from `line` (1-based) on."""
        with self._opened(path, os.O_RDONLY) as descriptor:
            if os.fstat(descriptor).st_size > READ_LIMIT:
                raise Unfit(f"{path!r} is larger than {READ_LIMIT} bytes")
            with os.fdopen(os.dup(descriptor), "rb") as file:
                text = file.read(READ_LIMIT + 1).decode("utf-8", "replace")
        if line is None and limit is None:
            return text
        start = max((line or 1) - 1, 0)
        lines = StringIO(text).readlines()  # `splitlines` would cut at more than editors take for a line's end
        return "".join(lines[start : None if limit is None else start + max(limit, 0)])

    def write_text(self, path: str, content: str) -> None:
        """Replaces the file, or makes it; the folder must be there."""
        with self._opened(path, os.O_WRONLY | os.O_CREAT) as descriptor:
            os.ftruncate(descriptor, 0)
            with os.fdopen(os.dup(descriptor), "wb") as file:
                file.write(content.encode("utf-8", "surrogatepass"))

    @contextmanager
    def _opened(self, path: str, flags: int) -> Iterator[int]:
        root, below = self.resolve(path)
        descriptors: list[int] = []
        try:
            descriptors.append(os.open(root, os.O_RDONLY | os.O_DIRECTORY))
            for part in below.parts[:-1]:
                step = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
                descriptors.append(os.open(part, step, dir_fd=descriptors[-1]))
            name = below.name or "."
            # Non-blocking: a pipe that somebody left in the workspace must not hold the gateway up.
            mode = flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            descriptors.append(os.open(name, mode, 0o644, dir_fd=descriptors[-1]))
            if not stat.S_ISREG(os.fstat(descriptors[-1]).st_mode):
                raise Unfit(f"{path!r} is not a file")
            yield descriptors[-1]
        except FileNotFoundError:
            raise Missing(f"{path!r} does not exist") from None
        except OSError as exc:
            raise Unfit(f"{path!r}: {exc.strerror}") from exc
        finally:
            for descriptor in reversed(descriptors):
                os.close(descriptor)
