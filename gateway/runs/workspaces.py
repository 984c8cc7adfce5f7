"""The folders that agents may work in: those inside the workspace roots, with links resolved."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from gateway.errors import Refused


class Workspaces:
    def __init__(self, roots: Sequence[Path]) -> None:
        self._roots = tuple(Path(os.path.realpath(root)) for root in roots)

    @property
    def roots(self) -> tuple[Path, ...]:
        """With links resolved, the first one first."""
        return self._roots

    def resolve(self, path: str | None) -> Path:
        """The folder; a relative path is resolved against the first root. Raises `Refused`."""
        if path is None:
            return self._roots[0]
        folder = Path(os.path.realpath(self._roots[0] / path))
        if not any(folder == root or root in folder.parents for root in self._roots):
            known = ", ".join(str(root) for root in self._roots)
            raise Refused(
                f"{path!r} is outside the workspace ({known}); --workspace names its folders",
                code="PATH_OUTSIDE_WORKSPACE",
            )
        if not folder.is_dir():
            raise Refused(f"{path!r} is not a folder", code="DIRECTORY_NOT_FOUND")
        return folder

    def resolve_all(self, paths: Iterable[str]) -> tuple[Path, ...]:
        return tuple(self.resolve(path) for path in paths)
