"""Gateways with agents of the test's own: a script in `scripts/`, each of its public functions an agent.

Every stream that a test gets from here has passed AG-UI's models and ordering rules.
"""

from __future__ import annotations

import ast
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx

from gateway.events import Wire
from tests.agui.replay import accepted
from tests.support.gateway import Gateway, events_of, run_input

SCRIPTS = Path(__file__).parent / "scripts"
LIMIT = 20.0
"""Seconds until a test gives up waiting for what must come."""

TOML = """\
id = "{id}"
driver = "python"
entry = "{script}:{function}"
identity = {{ name = "{id}" }}
{more}
"""


def write_agents(folder: Path, script: str, **more: str) -> Path:
    """An agents' folder; `more` has lines for the file of the function it names."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(SCRIPTS / f"{script}.py", folder)
    for name in functions(script):
        text = TOML.format(id=name.replace("_", "-"), script=script, function=name, more=more.get(name, ""))
        (folder / f"{name}.toml").write_text(text, "utf-8")
    return folder


def functions(script: str) -> list[str]:
    tree = ast.parse((SCRIPTS / f"{script}.py").read_text("utf-8"))
    made = [node.name for node in tree.body if isinstance(node, ast.AsyncFunctionDef | ast.FunctionDef)]
    return [name for name in made if not name.startswith("_")]


def staged(home: Path, script: str, *flags: str, more: dict[str, str] | None = None, **settings: Any) -> Gateway:
    """A gateway, not started yet. `settings` by the names they have in `Settings`."""
    agents = write_agents(home / "agents", script, **(more or {}))
    env = {f"AGUI_GATEWAY_{name.upper()}": str(value) for name, value in settings.items()}
    return Gateway(home, "--agents", str(agents), *flags, env=env)


def played(gateway: Gateway, agent: str, **fields: Any) -> list[Wire]:
    """One run to its end."""
    return accepted(gateway.run(agent, fields.pop("text", "hello"), **fields))


def new_ids() -> dict[str, str]:
    return {"threadId": f"thread-{uuid4().hex}", "runId": f"run-{uuid4().hex}"}


@contextmanager
def streaming(gateway: Gateway, agent: str, **fields: Any) -> Iterator[tuple[str, Iterator[Wire]]]:
    """A run under way: its id, and its events as they come. Left early, the connection is closed."""
    fields = {**new_ids(), **fields}
    with gateway.stream(agent, **fields) as events:
        yield fields["runId"], events


def until(events: Iterator[Wire], kind: str) -> list[Wire]:
    """The events up to the first of this type."""
    found: list[Wire] = []
    for event in events:
        found.append(event)
        if event["type"] == kind:
            return found
    raise AssertionError(f"the stream ended without {kind}: {found}")


def attach(gateway: Gateway, run_id: str, after: int = 0) -> httpx.Response:
    """A run's events, to its end."""
    response = gateway.client.get(f"/runs/{run_id}/events", params={"after": after})
    assert response.status_code == 200, response.text
    return response


def attached(gateway: Gateway, run_id: str) -> list[Wire]:
    return accepted(events_of(attach(gateway, run_id).text))


def cancel(gateway: Gateway, run_id: str) -> str:
    response = gateway.client.post(f"/runs/{run_id}/cancel")
    assert response.is_success, response.text
    status: str = response.json()["status"]
    return status


def interrupts_of(events: list[Wire]) -> list[Wire]:
    outcome = events[-1].get("outcome", {})
    assert outcome.get("type") == "interrupt", events[-1]
    found: list[Wire] = outcome["interrupts"]
    return found


def resolved(interrupt: Wire, payload: Any = None) -> Wire:
    answer: Wire = {"interruptId": interrupt["id"], "status": "resolved"}
    return answer if payload is None else answer | {"payload": payload}


def cancelled(interrupt: Wire) -> Wire:
    return {"interruptId": interrupt["id"], "status": "cancelled"}


def eventually(found: Callable[[], Any], limit: float = LIMIT) -> Any:
    """What it finds, as soon as it finds anything: for what another process does in its own time."""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        if result := found():
            return result
        time.sleep(0.01)
    raise AssertionError(f"not within {limit:g} seconds")


def with_resume(thread: str, *answers: Wire, **fields: Any) -> dict[str, Any]:
    return run_input("the answer is in `resume`", threadId=thread, resume=list(answers), **fields)
