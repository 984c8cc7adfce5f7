"""A real gateway with scripted agents that take MCP servers, and servers with secrets for them."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

from tests.behaviour.acp.harness import OPTIONS, Stage
from tests.drivers.mcp_client.servers import pairs
from tests.support.project import ROOT

HEADER_SECRET = "header-hunter2-a81b6f"
ENV_SECRET = "variable-hunter2-77e0c2"
URL_SECRET = "query-hunter2-5c1d90"
SECRETS = (HEADER_SECRET, ENV_SECRET, URL_SECRET)

REMOTE = {
    "type": "http",
    "name": "remote",
    "url": f"http://192.0.2.7/mcp?api_key={URL_SECRET}",
    "headers": pairs({"Authorization": f"Bearer {HEADER_SECRET}"}),
}
LOCAL = {"name": "local", "command": "/bin/cat", "args": [], "env": pairs({"SERVICE_TOKEN": ENV_SECRET})}


def make_stage(home: Path, *flags: str, **settings: Any) -> Stage:
    """Its agents take MCP servers. They may name any address, so that no server has to be reached."""
    stage = Stage(home, *flags, **{"allow_private_addresses": True, "probe_mcp_stdio": False, **settings})
    return stage.agent("plain", "--full", options=[*OPTIONS, "mcpServers"])


def write_server(folder: Path) -> tuple[dict[str, Any], Path]:
    """A stdio server of a client that writes down its environment, one JSON object a line; and where. All of it is in
    the folder, so that it works in a sandbox that shows nothing else."""
    folder.mkdir(parents=True, exist_ok=True)
    note = folder / "environment.jsonl"
    program = folder / "server.sh"
    script = "import json,os,sys; print(json.dumps(dict(os.environ)), file=open(sys.argv[1], 'a'))"
    serve = f"exec {sys.executable} {shutil.copy(ROOT / 'tests' / 'fakes' / 'mcp_server.py', folder / 'server.py')}"
    program.write_text(f'#!/bin/sh\n{sys.executable} -c "{script}" {note}\n{serve}\n')
    program.chmod(0o755)
    entry = {"name": "spy", "command": str(program), "args": [], "env": pairs({"OWN_TOKEN": ENV_SECRET})}
    return entry, note


def read_environments(note: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in note.read_text().splitlines()] if note.exists() else []


def command_lines() -> str:
    """Of all processes that this user can see, as `ps` shows them."""
    lines = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and folder.name != str(os.getpid()):
            try:
                lines.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
            except OSError:  # it has ended
                continue
    return "\n".join(lines)


def stored_bytes(home: Path) -> bytes:
    """All that the gateway has written for its store."""
    return b"".join(path.read_bytes() for path in sorted(home.glob("gateway.db*")))
