"""Files of a session, for `fs/*`: inside its roots after links are resolved, whatever happens between check and use.

In: an absolute path. Out: text read or written. The path is resolved and checked against the roots, and then opened
from the root directory by directory, without following links: a link that is created meanwhile leads nowhere. A file
with a second name (a hard link) is refused, because the other name may lie anywhere on the disk. Never: a file of the
gateway's own.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import StringIO
from pathlib import Path

from gateway.gateway_files import is_withheld

MAX_READ_BYTES = 50 * 1024 * 1024


class PathOutside(Exception):
    """The path is not in the workspace."""


class FileMissing(Exception):
    """The file does not exist."""


class FileUnusable(Exception):
    """It exists, but cannot be read or written as text."""


class Workspace:
    def __init__(self, roots: Sequence[Path], withheld: Sequence[Path] = ()) -> None:
        """`withheld`: paths of the gateway's own."""
        self._roots = tuple(Path(os.path.realpath(root)) for root in roots)
        self._withheld = tuple(withheld)

    @property
    def roots(self) -> tuple[Path, ...]:
        return self._roots

    def resolve(self, path: str) -> tuple[Path, Path]:
        """(root, path below it), links resolved. Raises `PathOutside`."""
        if not os.path.isabs(path):
            raise PathOutside(f"{path!r} is not an absolute path")
        try:
            real = Path(os.path.realpath(path))
        except ValueError as exc:  # a NUL character, or half a surrogate pair
            raise PathOutside(f"{path!r} is not a path") from exc
        for root in self._roots:
            if real == root or root in real.parents:
                if is_withheld(real, root, self._withheld):
                    raise PathOutside(f"{path!r} belongs to the gateway itself")
                return root, real.relative_to(root)
        raise PathOutside(f"{path!r} is outside the workspace ({', '.join(str(root) for root in self._roots)})")

    def read_text(self, path: str, line: int | None = None, limit: int | None = None) -> str:
        """The text, or `limit` lines of it from `line` (1-based) on."""
        with self._open(path, os.O_RDONLY) as descriptor:
            if os.fstat(descriptor).st_size > MAX_READ_BYTES:
                raise FileUnusable(f"{path!r} is larger than {MAX_READ_BYTES} bytes")
            with os.fdopen(os.dup(descriptor), "rb") as file:
                text = file.read(MAX_READ_BYTES + 1).decode("utf-8", "replace")
        if line is None and limit is None:
            return text
        start = max((line or 1) - 1, 0)
        lines = StringIO(text).readlines()  # `splitlines` splits at characters that editors do not take for a line end
        return "".join(lines[start : None if limit is None else start + max(limit, 0)])

    def write_text(self, path: str, content: str) -> None:
        """Replace the file, or create it; its directory must exist."""
        with self._open(path, os.O_WRONLY | os.O_CREAT) as descriptor:
            os.ftruncate(descriptor, 0)
            with os.fdopen(os.dup(descriptor), "wb") as file:
                file.write(content.encode("utf-8", "surrogatepass"))

    @contextmanager
    def _open(self, path: str, flags: int) -> Iterator[int]:
        root, relative_path = self.resolve(path)
        descriptors: list[int] = []
        try:
            descriptors.append(os.open(root, os.O_RDONLY | os.O_DIRECTORY))
            for part in relative_path.parts[:-1]:
                directory_flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
                descriptors.append(os.open(part, directory_flags, dir_fd=descriptors[-1]))
            name = relative_path.name or "."
            # Non-blocking: a named pipe in the workspace must not block the gateway.
            file_flags = flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            descriptors.append(os.open(name, file_flags, 0o644, dir_fd=descriptors[-1]))
            status = os.fstat(descriptors[-1])
            if not stat.S_ISREG(status.st_mode):
                raise FileUnusable(f"{path!r} is not a file")
            if status.st_nlink > 1:
                raise FileUnusable(f"{path!r} is a hard link: the same file has another name, perhaps outside")
            yield descriptors[-1]
        except FileNotFoundError:
            raise FileMissing(f"{path!r} does not exist") from None
        except OSError as exc:
            raise FileUnusable(f"{path!r}: {exc.strerror}") from exc
        finally:
            for descriptor in reversed(descriptors):
                os.close(descriptor)
