"""`agui-gateway check FILE`: checks an agent's file, then starts the agent.

In: a file. Out: every mistake in it, with line and key; then the result of a start without a prompt: version, sign-in,
and capabilities for which agent and file differ. Exit codes: 0 success, 1 the agent does not start, 2 the file has
mistakes.
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
from gateway.cli.commands.agents import probe_agent
from gateway.cli.commands.doctor import progress
from gateway.cli.doctor_checks import start_limit
from gateway.cli.exit import FAILED, USAGE_ERROR
from gateway.cli.output.terminal import as_json, can_write, console, printable
from gateway.drivers import make_driver
from gateway.drivers.probe import Status
from gateway.errors import ConfigError, GatewayError

UNCOMPARED_KEYS = ("identity.documentation_url", "identity.type")


@dataclass(frozen=True, slots=True)
class Mistake:
    line: int | None
    key: str
    message: str


@dataclass(frozen=True, slots=True)
class Difference:
    """A capability with different values in the file and from the agent. A key that the file lacks is none."""

    key: str
    file: Any
    agent: Any


@dataclass(slots=True)
class Report:
    """The result of the check; `--json` prints it."""

    file: str
    id: str | None = None
    mistakes: list[Mistake] = field(default_factory=list)
    status: str | None = None
    """As in `agui-gateway agents`, corrected by the start; None: not probed."""
    version: str | None = None
    reason: str | None = None
    hint: str | None = None
    started: bool | None = None
    """None: not tried."""
    reported: int = 0
    """How many capabilities the agent itself reports."""
    differences: list[Difference] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        if self.mistakes:
            return USAGE_ERROR
        return FAILED if self.started is False or self.status not in (None, "ready", "needs-auth") else 0

    def start_failed(self, reason: str, status: Status = "broken") -> None:
        """An agent that looked ready is not. A missing sign-in stays the status."""
        self.started = False
        self.reason = reason
        self.status = status if self.status == "ready" else self.status


@click.command("check")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--no-launch", is_flag=True, help="Only read the file.")
@click.option("--json", "json_", is_flag=True, help="Print a JSON object.")
def command(file: Path, no_launch: bool, json_: bool) -> None:
    """Check an agent's file and start the agent.

    Prints every mistake with its line. Then starts the agent without a prompt and compares its capabilities with the
    file.
    """
    logging.basicConfig(level=logging.CRITICAL)
    report = Report(str(file))
    definition = read_definition(file, report)
    if definition is not None and not no_launch:
        with nullcontext() if json_ else progress(definition):
            anyio.run(launch, definition, report)
    if json_:
        click.echo(as_json({**asdict(report), "ok": report.exit_code == 0}))
    else:
        print_report(report)
    sys.exit(report.exit_code)


def read_definition(file: Path, report: Report) -> AgentDefinition | None:
    """None: the report has the mistakes."""
    try:
        definition = load_file(file)
    except ConfigError as exc:
        report.mistakes = list(_list_mistakes(file, exc))
        return None
    report.id = definition.id
    return definition


def _list_mistakes(file: Path, exc: ConfigError) -> Iterator[Mistake]:
    problems = exc.extra.get("problems")
    if problems is None:  # unreadable, or not TOML: then the message contains the line
        yield Mistake(None, "", exc.detail.removeprefix(f"{file}: "))
        return
    text = file.read_text("utf-8")
    for problem in problems:
        yield Mistake(line_of(text, problem.place), ".".join(map(str, problem.place)), problem.message)


async def launch(definition: AgentDefinition, report: Report) -> None:
    async with anyio.create_task_group() as tasks:
        availability = await probe_agent(definition, tasks)
        report.status = availability.status
        report.version = availability.version
        report.reason = availability.reason
        report.hint = availability.hint
        if availability.status in ("ready", "needs-auth"):
            await _start(definition, report, tasks)
        tasks.cancel_scope.cancel()


async def _start(definition: AgentDefinition, report: Report, tasks: TaskGroup) -> None:
    limit = start_limit(definition)
    try:
        driver = make_driver(definition, tasks)
    except ConfigError as exc:
        report.start_failed(exc.detail)
        return
    try:
        with anyio.fail_after(limit):
            if not driver.is_probed:
                await driver.probe()
            reported = dict(_flatten(await driver.handshake_layer()))
    except TimeoutError:
        report.start_failed(f"no answer within {limit:g} seconds")
    except GatewayError as exc:
        report.start_failed(exc.detail, "needs-auth" if exc.code == "AUTH_REQUIRED" else "broken")
        report.hint = exc.extra.get("hint") or report.hint
    else:
        report.started = True
        report.reported = len(reported)
        report.differences = list(_compare(definition, reported))
    finally:
        with anyio.CancelScope(shield=True):
            await driver.aclose()


def _compare(definition: AgentDefinition, reported: Mapping[str, Any]) -> Iterator[Difference]:
    stated = dict(_flatten(definition.capabilities))
    stated |= {f"identity.{name}": value for name, value in definition.identity.model_dump(exclude_none=True).items()}
    for key, value in stated.items():
        if key in reported and reported[key] != value and key not in UNCOMPARED_KEYS:
            yield Difference(key, value, reported[key])


def _flatten(tree: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in tree.items():
        if isinstance(value, Mapping) and value:
            yield from _flatten(value, f"{path}{name}.")
        else:
            yield f"{path}{name}", value


def print_report(report: Report) -> None:
    from rich.text import Text

    out = console()

    def line(sign: str, colour: str, text: str) -> None:
        mark = sign if can_write(sign) else "-"
        out.print(Text.assemble((f"{mark} ", colour), printable(text)))

    for mistake in report.mistakes:
        location = report.file if mistake.line is None else f"{report.file}:{mistake.line}"
        line("✗", "red", f"{location}: {f'{mistake.key}: ' if mistake.key else ''}{mistake.message}")
    if report.id is not None:
        line("✓", "green", f"{report.file} defines the agent {report.id!r}")
    if report.status is not None:
        version = f", version {report.version}" if report.version else ""
        succeeded = report.exit_code == 0
        line("✓" if succeeded else "✗", "green" if succeeded else "red", f"status: {report.status}{version}")
    if report.started:
        line("✓", "green", f"the agent starts and reports {report.reported} capabilities")
    elif report.started is False or report.reason:
        line("✗", "red", report.reason or "the agent does not start")
    if report.hint is not None:
        out.print(Text(f"  {printable(report.hint)}", "cyan"))
    for difference in report.differences:
        line("!", "yellow", f"{difference.key}: {difference.file!r} in the file, {difference.agent!r} from the agent")
