"""The folders that agents may work in: those inside the workspace roots, with links resolved.

Never: a folder with files of the gateway's own in it, or inside one of them (`gateway_files`)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from gateway.errors import Refused
from gateway.gateway_files import is_withheld


class Workspaces:
    def __init__(self, roots: Sequence[Path], withheld: Sequence[Path] = ()) -> None:
        """`withheld`: paths of the gateway's own."""
        self._roots = tuple(Path(os.path.realpath(root)) for root in roots)
        self._withheld = tuple(withheld)

    @property
    def roots(self) -> tuple[Path, ...]:
        """With links resolved, the first one first."""
        return self._roots

    def resolve(self, path: str | None) -> Path:
        """The folder; a relative path is resolved against the first root. Raises `Refused`."""
        if path is None:
            return self._roots[0]
        try:
            folder = Path(os.path.realpath(self._roots[0] / path))
        except ValueError as exc:  # a NUL character, or half a surrogate pair
            raise Refused(f"{path!r} is not a path", code="PATH_OUTSIDE_WORKSPACE") from exc
        roots = [root for root in self._roots if folder == root or root in folder.parents]
        if not roots:
            known = ", ".join(str(root) for root in self._roots)
            raise Refused(
                f"{path!r} is outside the workspace ({known}); --workspace names its folders",
                code="PATH_OUTSIDE_WORKSPACE",
            )
        if any(is_withheld(folder, root, self._withheld) for root in roots):
            raise Refused(f"{path!r} belongs to the gateway itself; choose another folder", code="PATH_WITHHELD")
        if not os.path.isdir(folder):  # unlike `Path.is_dir` also for a name that is too long
            raise Refused(f"{path!r} is not a folder", code="DIRECTORY_NOT_FOUND")
        return folder

    def resolve_all(self, paths: Iterable[str]) -> tuple[Path, ...]:
        return tuple(self.resolve(path) for path in paths)
