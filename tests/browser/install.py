"""Installs what the browser tests need, where the machine allows it: `python -m tests.browser.install`.

It uses the Chromium that `CHROMIUM` names or that is on the PATH; otherwise it installs Debian's package, if this is
Debian and the user is root. It builds the example's CopilotKit app once for every change of its files, in a cache. It
reports what is not available, and the tests that need it are skipped with the same message.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.support.debian import INSTALL_TIMEOUT_SECONDS, can_install, install_packages
from tests.support.project import ROOT

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
APP = ROOT / "examples" / "copilotkit-react"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "agui-gateway-tests" / "browser"


class NoBrowser(Exception):
    """No Chromium is available; the message says what to do."""


def chromium() -> str:
    """The path of a Chromium."""
    path_override = os.environ.get("CHROMIUM")
    path = path_override or next((candidate for name in NAMES if (candidate := shutil.which(name))), None)
    if path is None:
        raise NoBrowser("the browser tests need Chromium on the PATH (Debian: apt-get install chromium) or in CHROMIUM")
    return path


def install_chromium(show: bool) -> None:
    try:
        chromium()
        return
    except NoBrowser:
        if not can_install():
            raise
    install_packages(["chromium", "fonts-dejavu-core"], show=show)
    chromium()


def app_sources() -> list[Path]:
    """The source files of the app."""
    skipped = {"node_modules", "dist"}
    return sorted(path for path in APP.rglob("*") if path.is_file() and not skipped & set(path.parts))


def built_app() -> Path:
    """The folder of the built app; its name depends on the content of the source files."""
    digest = hashlib.sha256(b"".join(str(path.relative_to(APP)).encode() + path.read_bytes() for path in app_sources()))
    return CACHE / f"copilotkit-{digest.hexdigest()[:16]}" / "dist"


def build_app(show: bool) -> None:
    """Builds with npm and Vite. Not `npm ci`: it rejects a lock file without the binaries of other platforms. The
    gateway's address is inserted when the page is served."""
    dist = built_app()
    if dist.is_dir():
        return
    folder = dist.parent.with_suffix(".making")
    shutil.rmtree(folder, ignore_errors=True)
    for path in app_sources():
        (folder / path.relative_to(APP)).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, folder / path.relative_to(APP))
    env = os.environ | {"VITE_GATEWAY": "GATEWAY_ADDRESS", "NODE_OPTIONS": "--max-old-space-size=3072"}
    for command in (["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund"], ["npm", "run", "build"]):
        output = None if show else subprocess.PIPE
        done = subprocess.run(
            command, cwd=folder, env=env, stdout=output, stderr=output, text=True, timeout=INSTALL_TIMEOUT_SECONDS
        )
        if done.returncode != 0:
            raise RuntimeError(f"`{' '.join(command)}` failed:\n{done.stdout or ''}{done.stderr or ''}".strip())
    shutil.rmtree(folder / "node_modules")  # half a gigabyte that is no longer needed
    for old in CACHE.glob("copilotkit-*"):
        if old != folder:
            shutil.rmtree(old, ignore_errors=True)
    folder.rename(dist.parent)


def main() -> int:
    show = sys.stdout.isatty()
    try:
        install_chromium(show)
        print(f"the browser tests use {chromium()}")
    except NoBrowser as exc:
        print(f"SKIPPED: {exc}", file=sys.stderr)
        return 0  # the skipped tests report it again
    if shutil.which("npm") is None:
        print("SKIPPED: the CopilotKit app is built by npm, and there is no `npm` on the PATH", file=sys.stderr)
        return 0
    try:
        build_app(show)
    except RuntimeError as exc:
        print(exc, file=sys.stderr)
        return 1
    print("the CopilotKit app is built")
    return 0


if __name__ == "__main__":
    sys.exit(main())
