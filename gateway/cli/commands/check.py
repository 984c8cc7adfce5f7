"""`agui-gateway check FILE`: is an agent's file right, and does the agent behind it start?

In: a file. Out: everything that is wrong in it, with line and key; then what a real start found: version, sign-in, and
the capabilities that the agent itself tells otherwise than its file. Exit codes: 0 all is well, 1 it does not start,
2 the file is wrong. No prompt is sent.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import anyio
import click
from anyio.abc import TaskGroup

from gateway.catalog.definition import AgentDefinition
from gateway.catalog.load import load_file
from gateway.catalog.toml_lines import line_of
from gateway.cli.commands.agents import look_at
from gateway.cli.commands.doctor import progress
from gateway.cli.doctor_checks import start_limit
from gateway.cli.exit import FAILED, MISTAKEN
from gateway.cli.output.terminal import as_json, can_write, console, harmless
from gateway.drivers import make_driver
from gateway.drivers.probe import Status
from gateway.errors import ConfigError, GatewayError


@dataclass(frozen=True, slots=True)
class Mistake:
    line: int | None
    key: str
    message: str


@dataclass(frozen=True, slots=True)
class Differs:
    """A capability that the file and the agent tell differently. What the file does not say is no difference."""

    key: str
    file: Any
    agent: Any


@dataclass(slots=True)
class Found:
    file: str
    id: str | None = None
    mistakes: list[Mistake] = field(default_factory=list)
    status: str | None = None
    """As `agui-gateway agents` has it, and then as the start showed it; None: it was not looked at."""
    version: str | None = None
    reason: str | None = None
    hint: str | None = None
    started: bool | None = None
    """None: it was not tried."""
    told: int = 0
    """How many capabilities the agent itself tells."""
    differs: list[Differs] = field(default_factory=list)

    @property
    def code(self) -> int:
        if self.mistakes:
            return MISTAKEN
        return FAILED if self.started is False or self.status not in (None, "ready", "needs-auth") else 0

    def broke(self, reason: str, status: Status = "broken") -> None:
        """The start failed: what seemed ready from outside is not. A sign-in that is missing stays what is missing."""
        self.started, self.reason = False, reason
        self.status = status if self.status == "ready" else self.status


@click.command("check")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--no-launch", is_flag=True, help="Only read the file.")
@click.option("--json", "json_", is_flag=True, help="Print a JSON object.")
def command(file: Path, no_launch: bool, json_: bool) -> None:
    """Check an agent's file: every mistake with its line, then a real start, and what it tells otherwise."""
    logging.basicConfig(level=logging.CRITICAL)
    found = Found(str(file))
    definition = read(file, found)
    if definition is not None and not no_launch:
        with nullcontext() if json_ else progress(definition):
            anyio.run(launch, definition, found)
    if json_:
        click.echo(as_json({**asdict(found), "ok": found.code == 0}))
    else:
        show(found)
    sys.exit(found.code)


def read(file: Path, found: Found) -> AgentDefinition | None:
    try:
        definition = load_file(file)
    except ConfigError as exc:
        found.mistakes = list(_mistakes(file, exc))
        return None
    found.id = definition.id
    return definition


def _mistakes(file: Path, exc: ConfigError) -> Iterator[Mistake]:
    wrongs = exc.extra.get("wrongs")
    if wrongs is None:  # not TOML, or not to be read: the words have the line, where there is one
        yield Mistake(None, "", exc.detail.removeprefix(f"{file}: "))
        return
    text = file.read_text("utf-8")
    for wrong in wrongs:
        yield Mistake(line_of(text, wrong.place), ".".join(map(str, wrong.place)), wrong.message)


async def launch(definition: AgentDefinition, found: Found) -> None:
    async with anyio.create_task_group() as tasks:
        seen = await look_at(definition, tasks)
        found.status, found.version = seen.status, seen.version
        found.reason, found.hint = seen.reason, seen.hint
        if seen.status in ("ready", "needs-auth"):
            await _start(definition, found, tasks)
        tasks.cancel_scope.cancel()


async def _start(definition: AgentDefinition, found: Found, tasks: TaskGroup) -> None:
    limit = start_limit(definition)
    try:
        driver = make_driver(definition, tasks)
    except ConfigError as exc:
        found.broke(exc.detail)
        return
    try:
        with anyio.fail_after(limit):
            if not driver.is_probed:
                await driver.probe()
            told = dict(_leaves(await driver.handshake_layer()))
    except TimeoutError:
        found.broke(f"it said nothing within {limit:g} seconds")
    except GatewayError as exc:
        found.broke(exc.detail, "needs-auth" if exc.code == "AUTH_REQUIRED" else "broken")
        found.hint = exc.extra.get("hint") or found.hint
    else:
        found.started, found.told = True, len(told)
        found.differs = list(_differences(definition, told))
    finally:
        with anyio.CancelScope(shield=True):
            await driver.aclose()


def _differences(definition: AgentDefinition, told: Mapping[str, Any]) -> Iterator[Differs]:
    said = dict(_leaves(definition.capabilities))
    said |= {f"identity.{name}": value for name, value in definition.identity.model_dump(exclude_none=True).items()}
    for key, value in said.items():
        if key in told and told[key] != value and key not in ("identity.documentation_url", "identity.type"):
            yield Differs(key, value, told[key])


def _leaves(tree: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in tree.items():
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, f"{path}{name}.")
        else:
            yield f"{path}{name}", value


def show(found: Found) -> None:
    from rich.text import Text

    out = console()

    def line(sign: str, colour: str, words: str) -> None:
        mark = sign if can_write(sign) else "-"
        out.print(Text.assemble((f"{mark} ", colour), harmless(words)))

    for mistake in found.mistakes:
        where = found.file if mistake.line is None else f"{found.file}:{mistake.line}"
        line("✗", "red", f"{where}: {f'{mistake.key}: ' if mistake.key else ''}{mistake.message}")
    if found.id is not None:
        line("✓", "green", f"{found.file}: a definition of {found.id!r}")
    if found.status is not None:
        version = f", version {found.version}" if found.version else ""
        good = found.code == 0
        line("✓" if good else "✗", "green" if good else "red", f"{found.status}{version}")
    if found.started:
        line("✓", "green", f"it starts, and tells {found.told} capabilities itself")
    elif found.started is False or found.reason:
        line("✗", "red", found.reason or "it does not start")
    if found.hint is not None:
        out.print(Text(f"  {harmless(found.hint)}", "cyan"))
    for one in found.differs:
        line("!", "yellow", f"{one.key}: the file says {one.file!r}, the agent {one.agent!r}")
