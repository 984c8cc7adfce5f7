"""What was found on this machine, over HTTP: probed for all agents at once, stated in snapshots, never waited for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.behaviour.acp.harness import Stage, toml
from tests.drivers.process_watch import LIMIT
from tests.drivers.programs import BASE, npm_package, script


class Machine(Stage):
    """A gateway on a machine with programs of the test's own in `bin`."""

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        self.bin = home / "bin"
        self.bin.mkdir()

    def program(self, name: str, body: str, **more: object) -> None:
        """An agent whose program does this when it is asked for its version."""
        script(self.bin / name, body)
        self.installed(name, **more)

    def installed(self, name: str, **more: object) -> None:
        command = {"run": [name], "version": [name, "--version"], "env": {"PATH": f"{self.bin}:{BASE}"}}
        keys = {"id": name, "driver": "acp", "identity": {"name": name}, "command": command, **more}
        lines = [f"{key} = {toml(value)}" for key, value in keys.items()]
        (self.agents / f"{name}.toml").write_text("\n".join(lines), "utf-8")


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    home = tmp_path_factory.mktemp("machine")
    stage = Machine(home)
    # Each waits until the other has been asked: one after the other, neither would ever answer.
    for name, other in (("left", "right"), ("right", "left")):
        stage.program(name, f"touch {home / name}; until [ -e {home / other} ]; do sleep 0.01; done; echo {name} 1.0.0")
    npm_package(home, "@otter/cli", "2.7.1", "otter", "exit 1")
    stage.installed("otter", install=[{"kind": "npm", "package": "@otter/cli"}])
    stage.program("asleep", f"until [ -e {home / 'awake'} ]; do sleep 0.01; done; echo 4.0.0")
    with stage:
        yield stage
        (home / "awake").touch()


def test_a_snapshot_does_not_wait_for_a_look(machine: Machine) -> None:
    view = machine.asks("/agents/asleep/capabilities")
    assert "version" not in view["identity"]
    assert "availability" not in view.get("custom", {}).get("gateway", {})


def test_all_agents_are_looked_at_at_once(machine: Machine) -> None:
    (machine.bin.parent / "awake").touch()
    listed = machine.client.get("/agents", timeout=LIMIT).json()["agents"]
    versions = {agent["id"]: agent["availability"].get("version") for agent in listed}
    assert (versions["left"], versions["right"], versions["asleep"]) == ("1.0.0", "1.0.0", "4.0.0")
    assert {"demo", "echo"} <= versions.keys()
    assert [agent["id"] for agent in listed] == list(machine.asks("/")["agents"])


def test_what_was_found_is_in_the_snapshot_with_who_found_it(machine: Machine) -> None:
    assert machine.asks("/agents/otter")["availability"] == {"status": "ready", "version": "2.7.1"}
    explained = machine.asks("/agents/otter/capabilities?explain=1")["explain"]
    assert explained["identity.version"]["value"] == "2.7.1"
    assert explained["identity.version"]["layer"] == "probe"
    assert explained["custom.gateway.availability.status"]["value"] == "ready"


def test_no_path_of_this_machine_is_reported(machine: Machine) -> None:
    assert str(machine.bin) not in machine.client.get("/agents").text
