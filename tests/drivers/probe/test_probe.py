"""Whether an agent can run here: its program, its ways in, its system, the signs of being signed in."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from gateway.catalog.definition import AgentDefinition
from gateway.catalog.sections import Identity
from gateway.drivers.probe import Availability, auth, probe
from tests.drivers.programs import agent, script

pytestmark = pytest.mark.anyio

NPM = {"kind": "npm", "package": "@otter/cli"}
BREW = {"kind": "brew", "package": "otter"}
SIGN = {"kind": "env", "name": "OTTER_KEY", "hint": "run `otter login`"}


async def see(definition: AgentDefinition, **environ: str) -> Availability:
    with anyio.fail_after(30):
        return await probe(definition, environ)


# -- the program


async def test_a_missing_program_has_the_install_command_as_its_hint(tmp_path: Path) -> None:
    found = await see(agent("otter", path=tmp_path, install=[NPM]))
    assert (found.status, found.program, found.version) == ("not-installed", None, None)
    assert found.reason == "'otter' is not on the PATH"
    assert found.hint == "npm install -g @otter/cli"


async def test_a_found_program_has_its_path(tmp_path: Path) -> None:
    program = script(tmp_path / "otter", "exit 0")
    assert await see(agent("otter", path=tmp_path)) == Availability(program=str(program))


async def test_the_path_is_the_one_that_the_agent_will_have(tmp_path: Path) -> None:
    script(tmp_path / "otter", "exit 0")
    here, remote_proxy = agent("otter"), agent("otter", path=tmp_path / "empty")
    assert (await see(here, PATH=str(tmp_path))).status == "ready"
    assert (await see(remote_proxy, PATH=str(tmp_path))).status == "not-installed"


async def test_an_agent_without_a_program_is_always_there() -> None:
    named = Identity(name="Otter")
    definition = AgentDefinition(id="otter", driver="python", entry="otter:agent", identity=named)
    assert await see(definition) == Availability()


async def test_any_of_its_ways_in_will_do(tmp_path: Path) -> None:
    script(tmp_path / "otter-acp", "exit 0")
    fallback = {"name": "acp", "driver": "acp", "command": {"run": ["otter-acp"], "env": {"PATH": str(tmp_path)}}}
    found = await see(agent("otter", path=tmp_path, fallback=[fallback]))
    assert (found.status, found.transport) == ("ready", "acp")
    missing = await see(
        agent("otter", path=tmp_path / "empty", fallback=[fallback | {"command": {"run": ["no-otter"]}}])
    )
    assert missing.reason == "'otter' and 'no-otter' are not on the PATH"


async def test_a_script_whose_interpreter_is_not_there_is_broken(tmp_path: Path) -> None:
    script(tmp_path / "otter", "exit 0", "/usr/bin/env no-such-runtime")
    found = await see(agent("otter", path=tmp_path, version=("otter", "--version")))
    assert found.status == "broken"
    assert found.reason == f"{tmp_path / 'otter'} needs 'no-such-runtime', which does not exist"


@pytest.mark.parametrize(("module", "status"), [("json", "ready"), ("no_such_otter", "not-installed")])
async def test_for_a_module_of_python_the_interpreter_is_not_enough(module: str, status: str, tmp_path: Path) -> None:
    (tmp_path / "python").symlink_to(sys.executable)
    install = [{"kind": "pip", "package": "otter-acp"}]
    found = await see(agent("python", "-m", module, path=tmp_path, install=install))
    assert found.status == status
    assert found.hint == (None if status == "ready" else "pip install otter-acp")


async def test_python_is_not_started_for_a_module_that_nothing_speaks_for(tmp_path: Path) -> None:
    """With a version manager's shim before it that takes more than half a second."""
    prefix = tmp_path / "versions" / "3.13.0"
    site = prefix / "lib" / "python3.13" / "site-packages"
    site.mkdir(parents=True)
    script(tmp_path / "shims" / "python", f"touch {tmp_path / 'started'}; exit 0")
    definition = agent("python", "-m", "otter_acp", path=tmp_path / "shims")
    assert (await see(definition)).status == "not-installed"
    assert not (tmp_path / "started").exists()
    (site / "otter_acp").mkdir()
    assert (await see(definition)).status == "ready"
    assert (tmp_path / "started").exists()


async def test_an_unknown_kind_of_shim_is_run(tmp_path: Path) -> None:
    script(tmp_path / "python", "exit 1")
    found = await see(agent("python", "-m", "otter_acp", path=tmp_path))
    assert (found.status, found.reason) == ("not-installed", f"{tmp_path / 'python'} has no module 'otter_acp'")


async def test_an_adapter_needs_the_agent_it_adapts(tmp_path: Path) -> None:
    script(tmp_path / "otter-acp", "exit 0")
    both = [{"kind": "npm", "package": "otter-acp"}, NPM]
    found = await see(agent("otter-acp", version=("otter", "--version"), path=tmp_path, install=both))
    assert found.status == "not-installed"
    assert found.reason == "'otter' is not on the PATH, and 'otter-acp' works with it"
    assert found.hint == "npm install -g otter-acp && npm install -g @otter/cli"


# -- how it is got


async def test_the_way_that_is_offered_is_one_whose_tool_is_here(tmp_path: Path) -> None:
    script(tmp_path / "npm", "exit 0")
    definition = agent("otter", install=[BREW, NPM])
    assert (await see(definition, PATH=str(tmp_path))).hint == "npm install -g @otter/cli"
    assert (await see(definition, PATH=str(tmp_path / "empty"))).hint == "brew install otter"


async def test_a_way_for_another_system_is_not_offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    definition = agent("otter", path=tmp_path, install=[BREW | {"platform": "darwin"}, NPM | {"platform": "linux"}])
    monkeypatch.setattr(sys, "platform", "linux")
    assert (await see(definition)).hint == "npm install -g @otter/cli"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert (await see(definition)).hint == "brew install otter"


async def test_what_a_shell_would_take_apart_is_quoted(tmp_path: Path) -> None:
    found = await see(agent("otter", path=tmp_path, install=[{"kind": "uv", "package": "otter[acp,mcp]"}]))
    assert found.hint == "uv tool install 'otter[acp,mcp]'"


@pytest.mark.parametrize(("there", "status"), [(False, "not-installed"), (True, "broken")])
async def test_an_agent_for_other_platforms_is_not_offered(there: bool, status: str, tmp_path: Path) -> None:
    if there:
        script(tmp_path / "otter", "exit 0")
    found = await see(agent("otter", path=tmp_path, manifest={"supported_platforms": ["win32"]}, install=[NPM]))
    assert (found.status, found.platform, found.hint) == (status, False, None)
    assert found.reason is not None and f"does not run on {sys.platform}" in found.reason


@pytest.mark.parametrize(("code", "met"), [(0, True), (1, False)])
async def test_what_it_needs_before_is_looked_for_and_called_by_who_wants_to_know(
    code: int, met: bool, tmp_path: Path
) -> None:
    script(tmp_path / "node", f"echo called >> {tmp_path / 'called'}; exit {code}")
    definition = agent("otter", install=[NPM | {"prerequisite_check": ["node", "--version"]}])
    without = await see(definition, PATH=str(tmp_path / "empty"))
    assert [(need.command, need.met) for need in without.prerequisites] == [("node --version", False)]
    assert without.to_json()["missing"] == ["node --version"]
    assert [need.met for need in (await see(definition, PATH=str(tmp_path))).prerequisites] == [True]
    assert not (tmp_path / "called").exists()
    called = await probe(definition, {"PATH": str(tmp_path)}, thorough=True)
    assert [need.met for need in called.prerequisites] == [met]


# -- signed in


async def signed_in(tmp_path: Path, *auth: dict[str, Any], **environ: str) -> Availability:
    script(tmp_path / "otter", "exit 0")
    return await see(agent("otter", path=tmp_path, auth=auth, command={"inherit_env": ["OTTER_*"]}), **environ)


async def test_a_variable_is_a_sign(tmp_path: Path) -> None:
    without = await signed_in(tmp_path, SIGN)
    assert (without.status, without.hint, without.signed_in) == ("needs-auth", "run `otter login`", False)
    assert (await signed_in(tmp_path, SIGN, OTTER_KEY="")).status == "needs-auth"
    assert (await signed_in(tmp_path, SIGN, OTTER_KEY="k")).status == "ready"


async def test_a_variable_that_does_not_reach_the_agent_is_none(tmp_path: Path) -> None:
    assert (await signed_in(tmp_path, SIGN | {"name": "LYNX_KEY"}, LYNX_KEY="k")).status == "needs-auth"


async def test_a_file_in_the_agents_home_is_a_sign(tmp_path: Path) -> None:
    sign = {"kind": "file", "name": "~/.otter/auth.json"}
    assert (await signed_in(tmp_path, sign, HOME=str(tmp_path))).status == "needs-auth"
    (tmp_path / ".otter").mkdir()
    (tmp_path / ".otter" / "auth.json").touch()
    assert (await signed_in(tmp_path, sign, HOME=str(tmp_path))).status == "ready"


@pytest.mark.parametrize(("code", "status"), [(0, "ready"), (1, "needs-auth")])
async def test_the_answer_of_a_sign_in_command_is_cached(tmp_path: Path, code: int, status: str) -> None:
    calls = tmp_path / "calls"
    login = script(tmp_path / "login", f"echo called >> {calls}; exit {code}")
    sign = {"kind": "command", "run": [str(login), "status"], "hint": "run `otter login`"}
    for _ in range(3):
        assert (await signed_in(tmp_path, sign)).status == status
    assert calls.read_text() == "called\n"


async def test_a_command_is_not_run_where_another_sign_suffices(tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    sign = {"kind": "command", "run": [str(script(tmp_path / "login", f"touch {calls}"))]}
    assert (await signed_in(tmp_path, sign, SIGN, OTTER_KEY="k")).signed_in is True
    assert not calls.exists()


async def test_with_another_key_the_command_is_run_again(tmp_path: Path) -> None:
    sign = {"kind": "command", "run": [str(script(tmp_path / "login", '[ "$OTTER_KEY" = right ]'))]}
    statuses = [(await signed_in(tmp_path, sign, OTTER_KEY=key)).status for key in ("wrong", "right", "wrong")]
    assert statuses == ["needs-auth", "ready", "needs-auth"]


async def test_a_yes_is_believed_for_longer_than_a_no() -> None:
    assert auth.CACHE_SECONDS[True] > auth.CACHE_SECONDS[False] > 0


async def test_a_command_that_hangs_is_no_sign(tmp_path: Path) -> None:
    sign = {"kind": "command", "run": [str(script(tmp_path / "login", "exec sleep 600"))], "timeout": 0.2}
    assert (await signed_in(tmp_path, sign)).status == "needs-auth"


async def test_without_a_sign_the_state_is_unknown(tmp_path: Path) -> None:
    found = await signed_in(tmp_path)
    assert (found.status, found.signed_in) == ("ready", None)


# -- as JSON


async def test_the_path_of_a_program_is_not_sent_over_http(tmp_path: Path) -> None:
    found = await signed_in(tmp_path, SIGN)
    assert str(tmp_path) in (found.program or "")
    assert str(tmp_path) not in str(found.to_json())
    assert Availability().to_json() == {"status": "ready"}
