"""The names that other programs may import from `gateway`."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import tomllib
from dataclasses import is_dataclass
from typing import get_args

import pytest
from ag_ui.core import EventType

import gateway
from gateway.drivers.python.driver import AUTHOR_EVENTS
from gateway.events import Event
from tests.support.project import ROOT

EMBEDDING = {"GatewayError", "Settings", "__version__", "create_app"}
AGENT_INPUT = {"Answer", "Options", "Turn"}

AGUI_EVENTS = {
    "ActivityDelta",
    "ActivitySnapshot",
    "Custom",
    "MessagesSnapshot",
    "Raw",
    "ReasoningEncryptedValue",
    "ReasoningMessageContent",
    "ReasoningMessageEnd",
    "StateDelta",
    "StateSnapshot",
    "StepFinished",
    "StepStarted",
    "SubagentError",
    "SubagentFinished",
    "SubagentStarted",
    "TextMessageContent",
    "TextMessageEnd",
    "ToolCallArgs",
    "ToolCallEnd",
    "ToolCallResult",
    "ToolCallStart",
}
"""Each is called like the AG-UI event that it becomes."""

OWN_EVENTS = {
    "AguiEvent": "an AG-UI event that the agent has built itself, passed on after a check",
    "ClientToolsCalled": "the turn waits for results of the client's tools; AG-UI: the outcome of RUN_FINISHED",
    "InterruptRequested": "the turn waits for answers; AG-UI: the outcome of RUN_FINISHED",
    "TokenUsage": "AG-UI: the field `usage` of RUN_FINISHED",
    "TurnEnded": "AG-UI: RUN_FINISHED, which the gateway writes, because a run and a turn can end at different times",
    "TurnFailed": "AG-UI: RUN_ERROR, which the gateway writes for failures of its own too",
    "UserMessageAccepted": "AG-UI has no event for it; it becomes a CUSTOM event",
    "Warning": "AG-UI has no event for it; it becomes a CUSTOM event",
}
"""Event classes that AG-UI has no event for, each with the reason why it exists."""

PARTS = {
    "ClientToolCall": "a field of ClientToolsCalled",
    "Event": "the union of all event classes, for annotations",
    "Interrupt": "a field of InterruptRequested; AG-UI has an object of this name",
}


def test_the_public_names_are_these_and_no_others() -> None:
    assert set(gateway.__all__) == EMBEDDING | AGENT_INPUT | AGUI_EVENTS | OWN_EVENTS.keys() | PARTS.keys()
    assert gateway.__all__ == sorted(gateway.__all__)


def test_every_event_that_an_agent_may_yield_is_public() -> None:
    assert {event.__name__ for event in AUTHOR_EVENTS} == AGUI_EVENTS | OWN_EVENTS.keys()
    assert get_args(gateway.Event) == get_args(Event)


@pytest.mark.parametrize("name", sorted(AGUI_EVENTS))
def test_an_event_class_is_called_like_its_agui_event(name: str) -> None:
    assert re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).upper() in EventType.__members__


@pytest.mark.parametrize("name", sorted(OWN_EVENTS))
def test_an_event_class_of_our_own_does_not_take_the_name_of_an_agui_event(name: str) -> None:
    assert re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).upper() not in EventType.__members__


@pytest.mark.parametrize("name", sorted({*gateway.__all__} - {"__version__", "Event"}))
def test_each_of_them_has_a_docstring_of_its_own(name: str) -> None:
    public = getattr(gateway, name)
    doc = inspect.getdoc(public)
    assert doc
    if is_dataclass(public):  # without a docstring, a dataclass gets its signature as one
        assert not doc.startswith(f"{name}(")


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'gateway' has no attribute 'Nothing'"):
        _ = gateway.Nothing


def test_names_for_agents_are_imported_without_the_web_server() -> None:
    code = "import sys; from gateway import Turn, TextMessageContent, Settings; print('starlette' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert result.stdout.strip() == "False"


def test_bundled_agents_and_examples_import_public_names_only() -> None:
    files = [*ROOT.glob("agents/**/*.py"), *ROOT.glob("examples/custom-agent/**/*.py")]
    imports = [
        (path.relative_to(ROOT).as_posix(), line)
        for path in files
        if "node_modules" not in path.parts
        for line in path.read_text("utf-8").splitlines()
        if re.match(r"\s*(from|import) gateway\.", line)
    ]
    assert imports == []


def test_the_version_is_that_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert gateway.__version__ == project["version"]


def test_an_application_needs_only_public_names() -> None:
    app = gateway.create_app(gateway.Settings(store="memory:"))
    assert app.routes
