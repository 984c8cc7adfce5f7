"""The stage of a federation: a gateway with agents for everything that a stream can hold, and one that mounts it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.behaviour.remote.test_mount import ids, mount
from tests.clients.conftest import node_modules
from tests.clients.node import Talk, Wire, play
from tests.clients.scenarios import Client, talks_for
from tests.runs.harness import TOML, eventually
from tests.support.gateway import Gateway

__all__ = ["node_modules"]

SCRIPT = Path(__file__).parent / "scripts" / "kinds.py"
AGENTS = ("texts", "thoughts", "tools", "states", "others", "helpers", "breaks", "malformed")
"""Of the script: those that a single word brings to the end of what they do."""
TOOL = {"name": "paint", "description": "Paints.", "parameters": {"type": "object", "properties": {}}}
OK = {"status": "resolved", "payload": {"ok": True}}
GO = {"say": "go"}
SCRIPTED: dict[str, list[Wire]] = {
    **{name: [GO, GO] for name in AGENTS},
    "asks": [GO, {"answers": [OK, {"status": "cancelled"}]}, {"answers": [OK]}],
    "asks_anew": [GO, {"answers": [OK]}, GO],
    "calls": [GO, {"results": ["red", "blue"]}],
    "leaves_calls": [GO, {"results": ["green"]}],
    "endless": [{**GO, "abortAfter": 2}, {**GO, "abortAfter": 2}],
}
WAYS = {"one gateway": "", "SSE between": "lines.", "protobuf between": "binary."}


@dataclass(slots=True)
class Federation:
    far: Gateway
    near: Gateway
    _played: dict[tuple[Client, str], dict[str, Talk]] = field(default_factory=dict)

    def talk(self, client: Client, way: str, name: str) -> Talk:
        """Every talk of a client by one way is had in one Node process, the first time one is asked for."""
        if (client, way) not in self._played:
            talks = {key: {**talk, "agent": WAYS[way] + talk["agent"]} for key, talk in every_talk(client).items()}
            url = self.near.url if WAYS[way] else self.far.url
            self._played[client, way] = dict(zip(talks, play(client.script, url, list(talks.values())), strict=True))
        return self._played[client, way][name]


def every_talk(client: Client) -> dict[str, Wire]:
    """All of the demo's but for those that only look at the clock or at a name; and the script's."""
    demo = {name: talk for name, talk in talks_for(client).items() if name not in ("nobody there", "stopped")}
    own = {"protobuf": client.protobuf, "tools": [TOOL], "state": {"count": 1}}
    scripted = {
        f"{name}!": {"agent": name.replace("_", "-"), "steps": steps, **own} for name, steps in SCRIPTED.items()
    }
    return demo | scripted


@pytest.fixture(scope="session")
def federation(tmp_path_factory: pytest.TempPathFactory, node_modules: None) -> Iterator[Federation]:
    home = tmp_path_factory.mktemp("federation")
    scripted = home / "far-agents"
    scripted.mkdir()
    shutil.copy(SCRIPT, scripted)
    for name in SCRIPTED:
        text = TOML.format(id=name.replace("_", "-"), script="kinds", function=name, more="merge = false")
        (scripted / f"{name}.toml").write_text(text)
    with Gateway(home / "far", "--agents", str(scripted)) as far:
        mount(home / "agents", "lines", far.url, 'agents = "*"', "refresh = 30")
        mount(home / "agents", "binary", far.url, 'agents = "*"', "refresh = 30", 'format = "protobuf"')
        for name in ("lines", "binary"):
            file = home / "agents" / f"{name}.toml"
            file.write_text("merge = false\n" + file.read_text())
        with Gateway(home / "near", "--agents", str(home / "agents")) as near:
            wanted = {f"{prefix}{name.replace('_', '-')}" for prefix in ("lines.", "binary.") for name in SCRIPTED}
            eventually(lambda: wanted <= ids(near))
            for name in sorted(wanted | {"lines.demo", "binary.demo"}):
                # Probed now: else the first run would report the capabilities that the gateway learns in it.
                near.client.get(f"/agents/{name}/capabilities", params={"probe": "1"})
            yield Federation(far, near)
