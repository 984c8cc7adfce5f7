"""Installs the programs that attacks need, where the machine allows it: `python -m tests.attacks.install`.

bubblewrap for the sandbox, nginx for a real proxy with TLS: Debian's packages, if this is Debian and the user is root.
It reports what is not available, and the tests that need it are skipped with the same message.
"""

from __future__ import annotations

import os
import shutil
import sys

from tests.support.debian import can_install, install_packages

PACKAGES = {"bwrap": "bubblewrap", "nginx": "nginx-light"}
"""Program → Debian's package."""


def missing() -> list[str]:
    path = f"{os.environ.get('PATH', '')}{os.pathsep}/usr/sbin"
    return [program for program in PACKAGES if shutil.which(program, path=path) is None]


def main() -> int:
    if missing() and can_install():
        install_packages([PACKAGES[program] for program in missing()], show=sys.stdout.isatty())
    for program in missing():
        package = PACKAGES[program]
        print(f"SKIPPED: attacks that need `{program}` (Debian: apt-get install {package})", file=sys.stderr)
    return 0  # the skipped tests report it again


if __name__ == "__main__":
    sys.exit(main())
