"""Programs and packages as an installer leaves them, in a folder of the test's own."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from gateway.catalog.definition import AgentDefinition

BASE = "/usr/bin:/bin"
"""For the scripts' own needs: `sh`, `sleep`, `cat`."""


def script(path: Path, body: str, interpreter: str = "/bin/sh") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!{interpreter}\n{body}\n", "utf-8")
    path.chmod(0o755)
    return path


def npm_package(prefix: Path, name: str, version: str, program: str, body: str) -> Path:
    """As `npm install -g` does: `bin/PROGRAM` leads to a script inside the package."""
    package = prefix / "lib" / "node_modules" / name
    main = script(package / "dist" / "cli.js", body)
    # A second one below, as packages of both module kinds have it: it says nothing of a version.
    (package / "dist" / "package.json").write_text('{"type": "module"}', "utf-8")
    about = {"name": name, "version": version, "bin": {program: "dist/cli.js"}}
    (package / "package.json").write_text(json.dumps(about), "utf-8")
    link = prefix / "bin" / program
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(os.path.relpath(main, link.parent))
    return link


def uv_tool(prefix: Path, name: str, version: str, program: str, body: str) -> Path:
    """As `uv tool install` does: a link to a script in a virtual environment of its own."""
    venv = prefix / "tools" / name
    main = script(venv / "bin" / program, body)
    site = venv / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    for package in (f"{name.replace('-', '_')}-{version}", "something_else-9.9.9"):
        (site / f"{package}.dist-info").mkdir(parents=True)
    link = prefix / "bin" / program
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(main)
    return link


def agent(*run: str, version: tuple[str, ...] = (), path: Path | None = None, **more: Any) -> AgentDefinition:
    """`path`: the folder that its programs stand in; else only what the test's environment has."""
    command = more.pop("command", {})
    env = {"PATH": f"{path}:{BASE}"} if path is not None else {}
    keys = {"run": run, "version": version, "env": env} | command
    return AgentDefinition(**{"id": "otter", "driver": "acp", "identity": {"name": "Otter"}, "command": keys, **more})
