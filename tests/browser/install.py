"""What the browser tests need, installed where the machine allows it: `python -m tests.browser.install`.

A Chromium: the one that `CHROMIUM` names or that stands on the PATH; else Debian's package, if this is Debian and we
are root. And the example's CopilotKit app, built once for every change of its files, in a cache of its own. What cannot
be had is said here, loudly, and the tests that need it are skipped with the same words.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.support.project import ROOT

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
LIMIT = 900.0
APP = ROOT / "examples" / "copilotkit-react"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "agui-gateway-tests" / "browser"


class NoBrowser(Exception):
    """There is none here; the text says why, and what to do."""


def chromium() -> str:
    """The path of a Chromium."""
    named = os.environ.get("CHROMIUM")
    found = named or next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        raise NoBrowser("the browser tests need Chromium on the PATH (Debian: apt-get install chromium) or in CHROMIUM")
    return found


def install_chromium(show: bool) -> None:
    try:
        chromium()
        return
    except NoBrowser:
        if shutil.which("apt-get") is None or os.geteuid() != 0:
            raise
    quiet = None if show else subprocess.DEVNULL
    env = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    packages = ["chromium", "fonts-dejavu-core"]
    for command in (["apt-get", "update"], ["apt-get", "install", "-y", "--no-install-recommends", *packages]):
        subprocess.run(command, env=env, stdout=quiet, stderr=quiet, timeout=LIMIT, check=False)
    chromium()


def sources() -> list[Path]:
    """The app's files, as a clone would have them."""
    skipped = {"node_modules", "dist"}
    return sorted(path for path in APP.rglob("*") if path.is_file() and not skipped & set(path.parts))


def built() -> Path:
    """Where the app's page is, once it is built from the files as they are now."""
    mark = hashlib.sha256(b"".join(str(path.relative_to(APP)).encode() + path.read_bytes() for path in sources()))
    return CACHE / f"copilotkit-{mark.hexdigest()[:16]}" / "dist"


def build_app(show: bool) -> None:
    """npm, then Vite. Not `npm ci`: it refuses a lock that lacks the binaries of other platforms. The gateway's address
    is put in when the page is served."""
    dist = built()
    if dist.is_dir():
        return
    folder = dist.parent.with_suffix(".making")
    shutil.rmtree(folder, ignore_errors=True)
    for path in sources():
        (folder / path.relative_to(APP)).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, folder / path.relative_to(APP))
    env = os.environ | {"VITE_GATEWAY": "GATEWAY_ADDRESS", "NODE_OPTIONS": "--max-old-space-size=3072"}
    for command in (["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund"], ["npm", "run", "build"]):
        words = None if show else subprocess.PIPE
        done = subprocess.run(command, cwd=folder, env=env, stdout=words, stderr=words, text=True, timeout=LIMIT)
        if done.returncode != 0:
            raise RuntimeError(f"`{' '.join(command)}` failed:\n{done.stdout or ''}{done.stderr or ''}".strip())
    shutil.rmtree(folder / "node_modules")  # half a gigabyte that nobody needs any more
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
        return 0  # the tests say so again, each
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
