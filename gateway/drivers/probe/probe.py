"""The probe of one agent: what the file system shows, what the agent's own commands print, and the conclusion."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import replace

import anyio
from anyio import to_thread

from gateway.catalog.definition import AgentDefinition
from gateway.catalog.sections import Install
from gateway.catalog.transports import list_commands
from gateway.drivers.environment import agent_environment
from gateway.drivers.probe.auth import has_command_sign, has_static_sign, sign_in_hint
from gateway.drivers.probe.availability import Availability, Prerequisite
from gateway.drivers.probe.command import run_command
from gateway.drivers.probe.executable import (
    FoundProgram,
    companion_program,
    find,
    locate,
    missing_interpreter,
)
from gateway.drivers.probe.install_hint import choose_method, install_command, supports_platform
from gateway.drivers.probe.python_module import is_importable, may_exist, module_name
from gateway.drivers.probe.version import (
    TIMEOUT_SECONDS,
    Version,
    read_package_version,
    run_cached,
    run_version_command,
)
from gateway.errors import AgentFault


async def probe(
    definition: AgentDefinition, environ: Mapping[str, str] | None = None, *, thorough: bool = False
) -> Availability:
    """Quick where no command has to be run, or it was run a short while ago. `thorough`: the prerequisites of an
    installation are run, not only located; `npm --version` alone takes longer than all the rest."""
    if definition.command is None:
        return Availability()
    environment = os.environ if environ is None else environ
    program = await to_thread.run_sync(find, definition, environment)
    if program is None:
        return await _not_installed(definition, environment, thorough)
    examination = _Examination(definition, program, thorough)
    await to_thread.run_sync(examination.read_files)
    await examination.run_commands()
    return examination.conclude()


async def _not_installed(definition: AgentDefinition, environ: Mapping[str, str], thorough: bool) -> Availability:
    names = dict.fromkeys(repr(each.command.run[0]) for each in list_commands(definition))
    reason = f"{' and '.join(names)} {'are' if len(names) > 1 else 'is'} not on the PATH"
    if not supports_platform(definition):
        return Availability("not-installed", f"it does not run on {sys.platform}; {reason}", platform=False)
    env = agent_environment((), {}, environ)
    method = choose_method(definition.install, env)
    hint = install_command(definition, method)
    return Availability("not-installed", reason, hint, prerequisites=await _prerequisites(method, env, thorough))


class _Examination:
    """Of an agent whose program was found."""

    def __init__(self, definition: AgentDefinition, program: FoundProgram, thorough: bool) -> None:
        self._definition = definition
        self._program = program
        self._thorough = thorough
        self._method: Install | None = None
        self._version = Version()
        self._is_signed_in = False
        self._prerequisites: tuple[Prerequisite, ...] = ()
        self._missing_part: str | None = None
        """A part of the agent that is not installed."""
        self._missing_interpreter: str | None = None

    def read_files(self) -> None:
        """All that can be known without a command."""
        definition, program = self._definition, self._program
        self._method = choose_method(definition.install, program.env)
        packaged = read_package_version(program.command, program.path, program.env, definition.install)
        self._version = Version(packaged)
        self._is_signed_in = has_static_sign(definition.auth, program.env)
        self._missing_interpreter = missing_interpreter(program)
        companion = companion_program(program.command)
        if companion is not None and locate(companion, program.env) is None:
            self._missing_part = f"{companion!r} is not on the PATH, and {program.command.run[0]!r} works with it"

    async def run_commands(self) -> None:
        if self._missing_interpreter is not None:
            return
        async with anyio.create_task_group() as tasks:
            for check in (self._check_version, self._check_sign_in, self._check_prerequisites, self._check_module):
                tasks.start_soon(check)

    async def _check_version(self) -> None:
        if self._version.text is None and self._program.command.version:
            self._version = await run_version_command(self._program.command.version, self._program.env)

    async def _check_sign_in(self) -> None:
        self._is_signed_in = self._is_signed_in or await has_command_sign(self._definition.auth, self._program.env)

    async def _check_prerequisites(self) -> None:
        self._prerequisites = await _prerequisites(self._method, self._program.env, self._thorough)

    async def _check_module(self) -> None:
        """`python` is nearly everywhere; the module that it runs may be missing."""
        name = module_name(self._program.command)
        if name is None or self._missing_part is not None:
            return
        has_file = await to_thread.run_sync(may_exist, self._program, name)
        if not has_file or not await is_importable(self._program, name):
            self._missing_part = f"{self._program.path} has no module {name!r}"

    def conclude(self) -> Availability:
        definition, hint = self._definition, install_command(self._definition, self._method)
        facts = Availability(
            version=self._version.text,
            program=self._program.path,
            transport=self._program.transport,
            platform=supports_platform(definition),
            prerequisites=self._prerequisites,
            signed_in=self._is_signed_in if definition.auth else None,
        )
        if not facts.platform:
            return replace(facts, status="broken", reason=f"it does not run on {sys.platform}")
        if self._missing_interpreter is not None:
            reason = f"{facts.program} needs {self._missing_interpreter!r}, which does not exist"
            return replace(facts, status="broken", reason=reason, hint=f"install {self._missing_interpreter}")
        if self._missing_part is not None:
            return replace(facts, status="not-installed", reason=self._missing_part, hint=hint)
        if self._version.failure is not None:
            return replace(facts, status="broken", reason=self._version.failure, hint=hint)
        if facts.signed_in is False:
            reason = "no sign of being signed in was found"
            return replace(facts, status="needs-auth", reason=reason, hint=sign_in_hint(definition.auth))
        return facts


async def _prerequisites(method: Install | None, env: Mapping[str, str], thorough: bool) -> tuple[Prerequisite, ...]:
    if method is None or not method.prerequisite_check:
        return ()
    path = locate(method.prerequisite_check[0], env)
    is_met = path is not None
    if path is not None and thorough:
        is_met = (await run_cached(method.prerequisite_check, path, env)).code == 0
    return (Prerequisite(" ".join(method.prerequisite_check), is_met),)


async def check_version_command(program: FoundProgram) -> str:
    """Run the program's version command now, without the cache. Raises `AgentFault` when it fails."""
    reply = await run_command(program.command.version, program.env, TIMEOUT_SECONDS)
    line = " ".join(program.command.version)
    if reply.failure is not None:
        raise AgentFault(reply.failure)
    if reply.is_late:
        raise AgentFault(f"`{line}` did not end within {TIMEOUT_SECONDS:g} seconds", code="AGENT_STALLED")
    if reply.code != 0:
        raise AgentFault(f"`{line}` fails with code {reply.code}", stderr=reply.text)
    return f"`{line}` answered"
