"""Temporary files of one session: content that an agent takes only by its path. They are removed with the session.

Secrets may be among them, so those of a gateway that was killed are removed by the next one that writes any.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from base64 import b64decode
from binascii import Error
from collections.abc import Sequence
from hashlib import sha256
from mimetypes import guess_extension
from pathlib import Path
from typing import Any

from gateway.drivers.locked_directory import create_locked, remove_stale

PREFIX = "agui-files-"


class TempFiles:
    def __init__(self, parent: Path | None = None) -> None:
        """`parent`: a directory that the agent can see. Default: the system's for temporary files."""
        self._parent = parent
        self._folder: Path | None = None
        self._lock_fd = -1
        self._count = 0

    def save(self, name: str, content: bytes) -> str:
        """The file's path; the name may have a directory. A name that was used before is overwritten: so the same
        options give the same command."""
        path = self._private_folder() / name
        path.parent.mkdir(mode=0o700, exist_ok=True)
        # Secrets of MCP servers may be in it: only this user may read it, whatever the umask.
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(content)
        return str(path)

    def copy_folder(self, folder: Path) -> Path:
        """A copy of a directory, links resolved."""
        copy = self._private_folder() / f"{folder.name}-{sha256(str(folder).encode()).hexdigest()[:8]}"
        if not copy.exists():
            shutil.copytree(folder, copy, ignore_dangling_symlinks=True)
        return copy

    def save_media(self, blocks: Sequence[dict[str, Any]]) -> dict[int, str]:
        """Index of each block with bytes in it → its file."""
        paths: dict[int, str] = {}
        for index, block in enumerate(blocks):
            data, mime = _read_bytes(block)
            if data is not None:
                self._count += 1
                paths[index] = self.save(f"{self._count}{guess_extension(mime) or '.bin'}", data)
        return paths

    def _private_folder(self) -> Path:
        if self._folder is None:
            parent = self._parent or Path(tempfile.gettempdir())
            remove_stale(parent, PREFIX)
            self._folder, self._lock_fd = create_locked(parent, PREFIX)
        return self._folder

    def remove(self) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            os.close(self._lock_fd)
            self._folder = None


def _read_bytes(block: dict[str, Any]) -> tuple[bytes | None, str]:
    """(content, MIME type); None: the block holds no bytes."""
    match block:
        case {"type": "image" | "audio", "data": str(data), "mimeType": str(mime)}:
            pass
        case {"type": "resource", "resource": {"blob": str(data)} as resource}:
            mime = str(resource.get("mimeType") or "application/octet-stream")
        case _:
            return None, ""
    try:
        return b64decode(data), mime.partition(";")[0]
    except Error:
        return None, ""
