"""One look at an agent: what the file system says, what its own commands say, and what follows from both."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import replace

import anyio
from anyio import to_thread

from gateway.catalog.definition import AgentDefinition
from gateway.catalog.sections import Install
from gateway.drivers.environment import trimmed
from gateway.drivers.probe import auth, python_module, version
from gateway.drivers.probe.availability import Availability, Prerequisite
from gateway.drivers.probe.command import ask
from gateway.drivers.probe.executable import Found, commands, companion, find, missing_interpreter, where
from gateway.drivers.probe.install_hint import command_of, offered, runs_here
from gateway.errors import AgentFault


async def probe(
    definition: AgentDefinition, environ: Mapping[str, str] | None = None, *, thorough: bool = False
) -> Availability:
    """Quick where nothing has to be asked, or it was asked a short while ago. `thorough`: what installing needs is
    called, not only looked for; `npm --version` alone takes longer than all the rest."""
    if definition.command is None:
        return Availability()
    given = os.environ if environ is None else environ
    found = await to_thread.run_sync(find, definition, given)
    if found is None:
        return await _not_there(definition, given, thorough)
    here = _Look(definition, found, thorough)
    await to_thread.run_sync(here.read)
    await here.ask()
    return here.judge()


async def _not_there(definition: AgentDefinition, environ: Mapping[str, str], thorough: bool) -> Availability:
    names = dict.fromkeys(repr(command.run[0]) for _, command in commands(definition))
    reason = f"{' and '.join(names)} {'are' if len(names) > 1 else 'is'} not on the PATH"
    if not runs_here(definition):
        return Availability("not-installed", f"it does not run on {sys.platform}; {reason}", platform=False)
    env = trimmed((), {}, environ)
    way = offered(definition.install, env)
    hint = command_of(definition, way)
    return Availability("not-installed", reason, hint, prerequisites=await _needs(way, env, thorough))


class _Look:
    """At an agent whose program was found."""

    def __init__(self, definition: AgentDefinition, found: Found, thorough: bool) -> None:
        self._definition, self._found, self._thorough = definition, found, thorough
        self._way: Install | None = None
        self._version = version.Version()
        self._signed_in = False
        self._needs: tuple[Prerequisite, ...] = ()
        self._lacks: str | None = None
        """A part of it that is not there."""
        self._interpreter: str | None = None
        """What its script needs and is not there."""

    def read(self) -> None:
        """What can be seen without starting anything."""
        definition, found = self._definition, self._found
        self._way = offered(definition.install, found.env)
        self._version = version.Version(version.near(found.command, found.path, found.env, definition.install))
        self._signed_in = auth.seen(definition.auth, found.env)
        self._interpreter = missing_interpreter(found)
        if (other := companion(found.command)) is not None and where(other, found.env) is None:
            self._lacks = f"{other!r} is not on the PATH, and {found.command.run[0]!r} works with it"

    async def ask(self) -> None:
        if self._interpreter is not None:
            return
        async with anyio.create_task_group() as tasks:
            for question in (self._ask_version, self._ask_signs, self._ask_needs, self._ask_module):
                tasks.start_soon(question)

    async def _ask_version(self) -> None:
        if self._version.text is None and self._found.command.version:
            self._version = await version.asked(self._found.command.version, self._found.env)

    async def _ask_signs(self) -> None:
        self._signed_in = self._signed_in or await auth.told(self._definition.auth, self._found.env)

    async def _ask_needs(self) -> None:
        self._needs = await _needs(self._way, self._found.env, self._thorough)

    async def _ask_module(self) -> None:
        """`python` is nearly everywhere; what counts is the module that it is to run."""
        name = python_module.module(self._found.command)
        if name is None or self._lacks is not None:
            return
        seen = await to_thread.run_sync(python_module.may_be_there, self._found, name)
        if not seen or not await python_module.has(self._found, name):
            self._lacks = f"{self._found.path} has no module {name!r}"

    def judge(self) -> Availability:
        definition, install = self._definition, command_of(self._definition, self._way)
        facts = Availability(
            version=self._version.text,
            program=self._found.path,
            transport=self._found.transport,
            platform=runs_here(definition),
            prerequisites=self._needs,
            signed_in=self._signed_in if definition.auth else None,
        )
        if not facts.platform:
            return replace(facts, status="broken", reason=f"it does not run on {sys.platform}")
        if self._interpreter is not None:
            reason = f"{facts.program} needs {self._interpreter!r}, which is not there"
            return replace(facts, status="broken", reason=reason, hint=f"install {self._interpreter}")
        if self._lacks is not None:
            return replace(facts, status="not-installed", reason=self._lacks, hint=install)
        if self._version.failure is not None:
            return replace(facts, status="broken", reason=self._version.failure, hint=install)
        if facts.signed_in is False:
            reason = "no sign of being signed in was found"
            return replace(facts, status="needs-auth", reason=reason, hint=auth.hint(definition.auth))
        return facts


async def _needs(way: Install | None, env: Mapping[str, str], thorough: bool) -> tuple[Prerequisite, ...]:
    if way is None or not way.prerequisite_check:
        return ()
    path = where(way.prerequisite_check[0], env)
    met = path is not None
    if path is not None and thorough:
        met = (await version.remembered(way.prerequisite_check, path, env)).code == 0
    return (Prerequisite(" ".join(way.prerequisite_check), met),)


async def answers(found: Found) -> str:
    """Calls the program's version command, now and for real. Raises `AgentFault` when it fails."""
    reply = await ask(found.command.version, found.env, version.LIMIT)
    line = " ".join(found.command.version)
    if reply.failure is not None:
        raise AgentFault(reply.failure)
    if reply.late:
        raise AgentFault(f"`{line}` did not end within {version.LIMIT:g} seconds", code="AGENT_STALLED")
    if reply.code != 0:
        raise AgentFault(f"`{line}` fails with code {reply.code}", stderr=reply.text)
    return f"`{line}` answered"
