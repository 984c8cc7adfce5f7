"""Cgroups of version 2, as far as files can show it: the kernel's own part needs a delegated cgroup."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gateway.drivers.process.cgroups import Cgroups, find_cgroups
from gateway.drivers.process.resource_limits import ResourceLimits, supervisor_options


def make_cgroup(folder: Path, controllers: str = "cpu memory pids", pids: str = "") -> Path:
    folder.mkdir(parents=True)
    (folder / "cgroup.controllers").write_text(controllers)
    (folder / "cgroup.procs").write_text(pids or f"{os.getpid()}\n")
    (folder / "cgroup.type").write_text("domain\n")
    return folder


def test_the_gateway_moves_into_a_child_and_agents_get_their_own(tmp_path: Path) -> None:
    folder = make_cgroup(tmp_path / "unit.service")
    proc = tmp_path / "proc"
    proc.write_text("0::/unit.service\n")
    cgroups = find_cgroups(proc, tmp_path)
    assert cgroups is not None
    assert (folder / "cgroup.subtree_control").read_text() == "+memory +pids"
    assert (cgroups.own / "cgroup.procs").read_text() == str(os.getpid())
    options = supervisor_options(ResourceLimits(memory=2**30, processes=64), cgroups, is_sandboxed=True)
    assert options.cgroup is not None
    path, own = options.cgroup
    assert own == cgroups.own
    assert (path / "memory.max").read_text() == str(2**30) and (path / "pids.max").read_text() == "64"
    assert options.arguments()[-2:] == [f"cgroup={path}", f"leave={own}"]


@pytest.mark.parametrize(
    ("controllers", "pids", "reason"),
    [("cpu", "", "lacks the controllers"), ("memory pids", "1 2 3", "not the gateway's")],
)
def test_a_cgroup_that_is_not_the_gateways_own_is_left_alone(
    tmp_path: Path, controllers: str, pids: str, reason: str
) -> None:
    folder = make_cgroup(tmp_path / "session.scope", controllers, pids)
    with pytest.raises(OSError, match=reason):
        Cgroups(folder)
    assert not (folder / "cgroup.subtree_control").exists()


def test_the_machines_root_is_never_used(tmp_path: Path) -> None:
    proc = tmp_path / "proc"
    proc.write_text("0::/\n")
    assert find_cgroups(proc, tmp_path) is None
    proc.write_text("4:memory:/x\n")
    assert find_cgroups(proc, tmp_path) is None


def test_without_a_cgroup_memory_is_limited_by_a_resource_limit() -> None:
    options = supervisor_options(ResourceLimits(memory=2**30, processes=64), None, is_sandboxed=False)
    assert any(argument.endswith(f":{2**30}:{2**30}") for argument in options.arguments())
    assert "processes=64" in options.arguments()
