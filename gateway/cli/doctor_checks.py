"""The checks of `doctor`: what a look at the agent found, said one by one, and the real start."""

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
from gateway.drivers import Driver, make_driver
from gateway.drivers.probe import Availability, check_version_command, find
from gateway.errors import ConfigError, GatewayError

MARGIN = 10.0
"""Beyond the agent's own bound for its start: the next way in may be tried, and everything has to end."""
LAST_WORDS = 300


@dataclass(frozen=True, slots=True)
class Check:
    name: str
    outcome: Literal["ok", "note", "fail", "skip"]
    """`note`: worth knowing, and no hindrance."""
    said: str
    hint: str | None = None
    """What mends it."""


def before_start(definition: AgentDefinition, found: Availability, work: Path) -> list[Check]:
    if definition.command is None:
        return [_function(definition, found), _folder(definition, work)]
    return [
        _program(found),
        _version(definition, found),
        _platform(definition, found),
        *_prerequisites(found),
        *_notes(definition, found),
        _signed_in(definition, found),
        _folder(definition, work),
    ]


def _function(definition: AgentDefinition, found: Availability) -> Check:
    if found.status == "broken":
        return Check("program", "fail", found.reason or "it cannot be imported", f"mend {definition.source}")
    return Check("program", "ok", f"{definition.entry}, a function in the gateway's own process")


def _program(found: Availability) -> Check:
    if found.program is None or found.status == "not-installed":
        return Check("program", "fail", found.reason or "it is not there", found.hint)
    if found.status == "broken":
        return Check("program", "fail", f"{found.program}: {found.reason}", found.hint)
    through = f" (through {found.transport!r})" if found.transport else ""
    return Check("program", "ok", found.program + through)


def _version(definition: AgentDefinition, found: Availability) -> Check:
    tried = list(dict.fromkeys(way.version for way in definition.install if way.version))
    if found.program is None:
        return Check("version", "skip", "there is no program to ask")
    if found.version is None:
        return Check("version", "note", "it does not tell")
    if not tried:
        return Check("version", "ok", found.version)
    if found.version in tried:
        return Check("version", "ok", f"{found.version}, the one that was tried")
    return Check("version", "note", f"{found.version}; the one that was tried last is {' or '.join(tried)}")


def _platform(definition: AgentDefinition, found: Availability) -> Check:
    platforms = definition.manifest.supported_platforms
    if found.platform:
        return Check("platform", "ok", sys.platform)
    return Check("platform", "fail", f"it runs on {', '.join(platforms or ())} only")


def _prerequisites(found: Availability) -> Iterator[Check]:
    for need in found.prerequisites:
        if need.met:
            yield Check("needs", "ok", f"`{need.command}` answers")
        elif found.program is None:
            tool = need.command.split()[0]
            yield Check("needs", "fail", f"`{need.command}` fails, and installing needs it", f"install {tool}")
        else:
            yield Check("needs", "note", f"`{need.command}` fails; one way to install it needs that")


def _notes(definition: AgentDefinition, found: Availability) -> Iterator[Check]:
    """What one should know before installing it."""
    if found.program is None:
        told = (way.notes for way in definition.install if way.platform in ("all", sys.platform))
        yield from (Check("install", "note", notes) for notes in dict.fromkeys(told) if notes)


def _signed_in(definition: AgentDefinition, found: Availability) -> Check:
    match found.signed_in:
        case True:
            return Check("signed in", "ok", "yes")
        case False:
            hint = next((sign.hint for sign in definition.auth if sign.hint), None)
            return Check("signed in", "fail", "no sign of it was found", hint)
        case None if found.program is None:
            return Check("signed in", "skip", "there is no program to ask")
        case None:
            return Check("signed in", "note", "cannot be seen from outside: its first answer will tell")


def _folder(definition: AgentDefinition, work: Path) -> Check:
    if not work.is_dir():
        return Check("folder", "fail", f"{work} is not there", f"mkdir -p {work}")
    if not os.access(work, os.R_OK | os.W_OK | os.X_OK):
        return Check("folder", "fail", f"{work} cannot be written to", "choose another with --cwd")
    in_git = any((parent / ".git").exists() for parent in (work, *work.parents))
    if definition.manifest.requires_git_repo and not in_git:
        return Check("folder", "fail", f"{work} is in no git repository, and it works in one only", "git init")
    return Check("folder", "ok", str(work))


# -- the real start


async def start(definition: AgentDefinition, checks: Sequence[Check], tasks: TaskGroup) -> Check:
    """Only where it has a chance. Not being signed in is no hindrance: many agents start without, and say so."""
    hindered = [check.name for check in checks if check.outcome == "fail" and check.name != "signed in"]
    if hindered:
        return Check("start", "skip", f"not tried: {hindered[0]}")
    try:
        driver = make_driver(definition, tasks)
    except ConfigError as exc:
        return Check("start", "fail", exc.detail)
    try:
        with anyio.fail_after(start_limit(definition)):
            said = await _started(definition, driver)
    except TimeoutError:
        return Check("start", "fail", f"it said nothing within {start_limit(definition):g} seconds")
    except GatewayError as exc:
        return Check("start", "fail", exc.detail, exc.extra.get("hint") or _last_words(exc))
    finally:
        with anyio.CancelScope(shield=True):
            await driver.aclose()
    return Check("start", "ok", said)


async def _started(definition: AgentDefinition, driver: Driver) -> str:
    began, place = time.monotonic(), find(definition, os.environ)
    if not driver.is_probed:
        await driver.probe()
        said = "it answered"
    elif place is None or not place.command.version:
        return "nothing has to be started before it is asked"
    else:  # a process for every turn: there is none to keep, but its program can be called
        said = await check_version_command(place)
    return f"{said} in {time.monotonic() - began:.1f} s"


def start_limit(definition: AgentDefinition) -> float:
    own = definition.cli.start_timeout if definition.cli is not None else definition.acp.start_timeout
    ways = 1 + len(definition.fallback)
    return own * ways + MARGIN


def _last_words(exc: GatewayError) -> str | None:
    words = str(exc.extra.get("stderr") or "").strip()
    return words.splitlines()[-1][:LAST_WORDS] if words and words.splitlines()[-1] not in exc.detail else None
