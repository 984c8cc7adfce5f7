"""Where agents may work: folders inside the workspace roots, links resolved."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from gateway.errors import Refused


class Workspaces:
    def __init__(self, roots: Sequence[Path]) -> None:
        self._roots = tuple(Path(os.path.realpath(root)) for root in roots)

    def resolve(self, wish: str | None) -> Path:
        """The folder; relative ones are meant from the first root. Raises `Refused`."""
        if wish is None:
            return self._roots[0]
        folder = Path(os.path.realpath(self._roots[0] / wish))
        if not any(folder == root or root in folder.parents for root in self._roots):
            known = ", ".join(str(root) for root in self._roots)
            raise Refused(
                f"{wish!r} is outside the workspace ({known}); --workspace names its folders",
                code="PATH_OUTSIDE_WORKSPACE",
            )
        if not folder.is_dir():
            raise Refused(f"{wish!r} is not a folder", code="DIRECTORY_NOT_FOUND")
        return folder

    def resolve_all(self, wishes: Iterable[str]) -> tuple[Path, ...]:
        return tuple(self.resolve(wish) for wish in wishes)
