"""The checks of `agui-gateway doctor`: one for each result of the probe, and a test start.

In: an agent's definition and what the probe found. Out: a list of `Check`. Never: a prompt.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import anyio
from anyio.abc import TaskGroup

from gateway.catalog.definition import AgentDefinition
from gateway.catalog.transports import list_transports
from gateway.drivers import Driver, make_driver
from gateway.drivers.probe import Availability, check_version_command, find
from gateway.errors import ConfigError, GatewayError

START_MARGIN_SECONDS = 10.0
"""Added to the agent's own time limits: a fallback may have to be tried, and everything has to end."""
MAX_STDERR_CHARS = 300
NO_PROGRAM = "not checked: the program is missing"


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the report."""

    name: str
    outcome: Literal["ok", "note", "fail", "skip"]
    """`note`: worth knowing; the agent can run."""
    message: str
    hint: str | None = None
    """What the user should do."""


def check_environment(definition: AgentDefinition, availability: Availability, cwd: Path) -> list[Check]:
    """All checks that need no start."""
    if definition.command is None:
        return [_check_function(definition, availability), _check_directory(definition, cwd)]
    return [
        _check_program(availability),
        _check_version(definition, availability),
        _check_platform(definition, availability),
        *_check_prerequisites(availability),
        *_list_notes(definition, availability),
        _check_sign_in(definition, availability),
        _check_directory(definition, cwd),
    ]


def _check_function(definition: AgentDefinition, availability: Availability) -> Check:
    if availability.status == "broken":
        reason = availability.reason or "it cannot be imported"
        return Check("program", "fail", reason, f"correct {definition.source}")
    return Check("program", "ok", f"{definition.entry}, a function in the gateway's process")


def _check_program(availability: Availability) -> Check:
    if availability.program is None or availability.status == "not-installed":
        return Check("program", "fail", availability.reason or "not found", availability.hint)
    if availability.status == "broken":
        return Check("program", "fail", f"{availability.program}: {availability.reason}", availability.hint)
    fallback = f" (fallback {availability.transport!r})" if availability.transport else ""
    return Check("program", "ok", availability.program + fallback)


def _check_version(definition: AgentDefinition, availability: Availability) -> Check:
    verified = list(dict.fromkeys(method.version for method in definition.install if method.version))
    if availability.program is None:
        return Check("version", "skip", NO_PROGRAM)
    if availability.version is None:
        return Check("version", "note", "unknown: the program does not print it")
    if not verified:
        return Check("version", "ok", availability.version)
    if availability.version in verified:
        return Check("version", "ok", f"{availability.version}, the verified version")
    return Check("version", "note", f"{availability.version}; the verified version is {' or '.join(verified)}")


def _check_platform(definition: AgentDefinition, availability: Availability) -> Check:
    platforms = definition.manifest.supported_platforms
    if availability.platform:
        return Check("platform", "ok", sys.platform)
    return Check("platform", "fail", f"it runs only on {', '.join(platforms or ())}")


def _check_prerequisites(availability: Availability) -> Iterator[Check]:
    for prerequisite in availability.prerequisites:
        if prerequisite.met:
            yield Check("prerequisite", "ok", f"`{prerequisite.command}` succeeds")
        elif availability.program is None:
            tool = prerequisite.command.split()[0]
            yield Check(
                "prerequisite", "fail", f"`{prerequisite.command}` fails; the installer needs it", f"install {tool}"
            )
        else:
            yield Check("prerequisite", "note", f"`{prerequisite.command}` fails; an installer of the agent needs it")


def _list_notes(definition: AgentDefinition, availability: Availability) -> Iterator[Check]:
    """What the user should know before installing the agent."""
    if availability.program is None:
        notes = (method.notes for method in definition.install if method.platform in ("all", sys.platform))
        yield from (Check("install", "note", note) for note in dict.fromkeys(notes) if note)


def _check_sign_in(definition: AgentDefinition, availability: Availability) -> Check:
    match availability.signed_in:
        case True:
            return Check("sign-in", "ok", "signed in")
        case False:
            hint = next((check.hint for check in definition.auth if check.hint), None)
            return Check("sign-in", "fail", "no credentials were found", hint)
        case None if availability.program is None:
            return Check("sign-in", "skip", NO_PROGRAM)
        case None:
            return Check("sign-in", "note", "unknown until the first run: the agent has no check for it")


def _check_directory(definition: AgentDefinition, cwd: Path) -> Check:
    if not cwd.is_dir():
        return Check("directory", "fail", f"{cwd} does not exist", f"mkdir -p {cwd}")
    if not os.access(cwd, os.R_OK | os.W_OK | os.X_OK):
        return Check("directory", "fail", f"{cwd} is not writable", "choose another with --cwd")
    in_git = any((parent / ".git").exists() for parent in (cwd, *cwd.parents))
    if definition.manifest.requires_git_repo and not in_git:
        return Check("directory", "fail", f"{cwd} is not in a Git repository, which the agent requires", "git init")
    return Check("directory", "ok", str(cwd))


# -- the test start


async def check_start(definition: AgentDefinition, checks: Sequence[Check], tasks: TaskGroup) -> Check:
    """Starts the agent if no other check failed. A missing sign-in does not count: many agents start without it."""
    obstacles = [check.name for check in checks if check.outcome == "fail" and check.name != "sign-in"]
    if obstacles:
        return Check("start", "skip", f"not tried, because the check {obstacles[0]!r} failed")
    try:
        driver = make_driver(definition, tasks)
    except ConfigError as exc:
        return Check("start", "fail", exc.detail)
    limit = start_limit(definition)
    try:
        with anyio.fail_after(limit):
            message = await _start(definition, driver)
    except TimeoutError:
        return Check("start", "fail", f"no answer within {limit:g} seconds")
    except GatewayError as exc:
        return Check("start", "fail", exc.detail, exc.extra.get("hint") or _last_stderr_line(exc))
    finally:
        with anyio.CancelScope(shield=True):
            await driver.aclose()
    return Check("start", "ok", message)


async def _start(definition: AgentDefinition, driver: Driver) -> str:
    began = time.monotonic()
    program = find(definition, os.environ)
    if not driver.is_probed:
        await driver.probe()
        message = "it answered"
    elif program is None or not program.command.version:
        return "nothing to start: it runs when it gets a prompt"
    else:  # one process per turn: none stays running, but its program can be called
        message = await check_version_command(program)
    return f"{message} in {time.monotonic() - began:.1f} s"


def start_limit(definition: AgentDefinition) -> float:
    """Seconds within which the agent, or one of its fallbacks, must have started."""
    timeout = definition.cli.start_timeout if definition.cli is not None else definition.acp.start_timeout
    attempts = len(list_transports(definition))
    return timeout * attempts + START_MARGIN_SECONDS


def _last_stderr_line(exc: GatewayError) -> str | None:
    lines = str(exc.extra.get("stderr") or "").strip().splitlines()
    return lines[-1][:MAX_STDERR_CHARS] if lines and lines[-1] not in exc.detail else None
