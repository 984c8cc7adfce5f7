"""The python driver itself: its entry, and what the agent announces."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from gateway.catalog.definition import AgentDefinition
from gateway.catalog.sections import Identity
from gateway.drivers.python import driver
from gateway.drivers.python.driver import PythonDriver
from gateway.errors import AgentFault, ConfigError

pytestmark = pytest.mark.anyio


def definition(tmp_path: Path, code: str, **more: Any) -> AgentDefinition:
    (tmp_path / "mine.py").write_text(code)
    fields = {"id": "mine", "driver": "python", "entry": "mine:run", "identity": Identity(name="Mine"), **more}
    return AgentDefinition(**fields, source=tmp_path / "mine.toml")


async def handshake_layer(tmp_path: Path, code: str, **more: Any) -> Any:
    return await PythonDriver(definition(tmp_path, code, **more), anyio.create_task_group()).handshake_layer()


CLASS = "class Agent:\n    capabilities = {'tools': {'supported': True}}\n    def run(self, turn): ...\nrun = Agent()"
MODEL = "from ag_ui.core import AgentCapabilities, ToolsCapabilities\n" + (
    "def run(turn): ...\ndef said(): return AgentCapabilities(tools=ToolsCapabilities(supported=True))"
)


@pytest.mark.parametrize(
    ("code", "announces"),
    [
        ("def run(turn): ...\nsaid = {'tools': {'supported': True}}", "mine:said"),
        ("def run(turn): ...\ndef said(): return {'tools': {'supported': True}}", "mine:said"),
        ("def run(turn): ...\nasync def said(): return {'tools': {'supported': True}}", "mine:said"),
        (CLASS, None),
        (MODEL, "mine:said"),
    ],
)
async def test_an_agent_may_announce_what_it_can(tmp_path: Path, code: str, announces: str | None) -> None:
    assert (await handshake_layer(tmp_path, code, capabilities_entry=announces))["tools"]["supported"] is True


async def test_an_agent_need_not_announce_anything(tmp_path: Path) -> None:
    assert await handshake_layer(tmp_path, "def run(turn): ...") == {}


async def test_what_is_no_mapping_announces_nothing(tmp_path: Path) -> None:
    with pytest.raises(AgentFault, match="mine: capabilities are a int"):
        await handshake_layer(tmp_path, "def run(turn): ...\nsaid = 5", capabilities_entry="mine:said")


async def test_an_announcement_that_takes_too_long_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver, "CAPABILITIES_TIMEOUT_SECONDS", 0.01)
    code = "import anyio\ndef run(turn): ...\nasync def said(): await anyio.sleep_forever()"
    with pytest.raises(TimeoutError):
        await handshake_layer(tmp_path, code, capabilities_entry="mine:said")


async def test_an_entry_that_cannot_be_called_is_a_config_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="'mine:run' is not a function"):
        await handshake_layer(tmp_path, "run = 5")
