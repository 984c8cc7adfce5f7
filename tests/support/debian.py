"""Debian's packages that tests use, installed where the machine allows it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence

INSTALL_TIMEOUT_SECONDS = 900.0


def can_install() -> bool:
    return shutil.which("apt-get") is not None and os.geteuid() == 0


def install_packages(packages: Sequence[str], *, show: bool) -> None:
    """Best effort: the caller looks for the programs afterwards."""
    output = None if show else subprocess.DEVNULL
    env = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for command in (["apt-get", "update"], ["apt-get", "install", "-y", "--no-install-recommends", *packages]):
        subprocess.run(command, env=env, stdout=output, stderr=output, timeout=INSTALL_TIMEOUT_SECONDS, check=False)
