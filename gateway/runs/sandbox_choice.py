"""Chooses the sandbox of a session's process.

In: the agent's file and the settings, the session's folders, whether the folder is trusted, who approves tool calls.
Out: a `SandboxPolicy`. Raises `Refused` with `SANDBOX_UNAVAILABLE` when the isolation that is demanded is not to be had
on this machine. In short: what the operator demands is done or refused, never silently left out; `auto` protects where
no user watches.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, assert_never

from gateway.capability_paths import GATEWAY_SANDBOX
from gateway.catalog.definition import AgentDefinition
from gateway.catalog.sandbox import SandboxMode
from gateway.drivers.client_tools import SocketDirectory
from gateway.drivers.process.resource_limits import ResourceLimits
from gateway.drivers.sandbox.bubblewrap import unusable_reason
from gateway.drivers.sandbox.containers import container_evidence
from gateway.drivers.sandbox.hosts import HostRule, parse_rule, rules_of_servers
from gateway.drivers.sandbox.policy import SandboxPolicy
from gateway.drivers.trust_flags import settings_dir
from gateway.errors import ConfigError, Refused
from gateway.events import Layer
from gateway.gateway_files import withheld_paths
from gateway.settings import Settings

REMEDY = 'Install bubblewrap and permit user namespaces, or run the gateway in a container with sandbox = "container"'


@dataclass(frozen=True, slots=True)
class Situation:
    """What `auto` depends on."""

    is_trusted: bool
    """The folder is."""
    is_unattended: bool
    """Tool calls are approved without a question (`runs.approval_modes`)."""


class SandboxChoice:
    def __init__(self, settings: Settings) -> None:
        """Raises `ConfigError` for a host that cannot be read."""
        self._settings = settings
        self._directory = SocketDirectory()
        self._exchanges: dict[SandboxPolicy, Path] = {}
        self._operator_hosts = tuple(_parse_hosts(settings.sandbox_hosts))
        self._hidden = withheld_paths(settings)

    def choose(
        self,
        definition: AgentDefinition,
        owner: str,
        folders: Sequence[Path],
        situation: Situation,
        mcp_servers: Sequence[Mapping[str, Any]] = (),
    ) -> SandboxPolicy | None:
        """None: the agent is not a process of this machine. `owner`: the principal. `mcp_servers`: of the session; its
        agent may connect to their hosts."""
        if not definition.is_local_process:
            return None
        policy = decide(self.mode(definition), situation, unusable_reason, container_evidence)
        policy = replace(policy, limits=self.limits(definition))
        if not policy.is_wrapped:
            return policy
        table = definition.sandbox
        policy = replace(
            policy,
            folders=tuple(path.resolve() for path in folders),
            home_read=table.home_read,
            home_write=table.home_write,
            visible=tuple(_visible_files(definition)),
            hidden=self._hidden,
            hosts=(
                *(parse_rule(host) for host in table.hosts),
                *self._operator_hosts,
                *rules_of_servers(mcp_servers, allows_private=self._settings.allow_private_addresses),
            ),
            owner=owner,
        )
        return replace(policy, exchange=self._exchange(policy))

    def mode(self, definition: AgentDefinition) -> SandboxMode:
        return self._settings.sandbox or definition.sandbox.mode

    def limits(self, definition: AgentDefinition) -> ResourceLimits:
        own, settings = definition.limits, self._settings
        return ResourceLimits(
            own.memory or settings.limit_memory,
            own.processes or settings.limit_processes,
            own.cpu_seconds or settings.limit_cpu_seconds,
            own.file_bytes or settings.limit_file_bytes,
        )

    def agent_facts(self, definition: AgentDefinition) -> Layer:
        """What the agent's sessions have, where that is the same for all; with `auto`, what it would be in an untrusted
        folder."""
        if not definition.is_local_process:
            return {}
        mode = self.mode(definition)
        limits = {f"limits.{name}": value for name, value in self.limits(definition).to_json().items()}
        facts: dict[str, Any] = {"mode": mode, **limits}
        try:
            policy = decide(mode, Situation(is_trusted=False, is_unattended=False), unusable_reason, container_evidence)
            facts["untrusted" if mode == "auto" else "kind"] = policy.kind
            facts["reason"] = policy.warning
        except Refused as exc:
            facts["reason"] = exc.detail
        return {f"{GATEWAY_SANDBOX}.{name}": value for name, value in facts.items() if value is not None}

    def _exchange(self, policy: SandboxPolicy) -> Path:
        """The same for equal policies."""
        if (known := self._exchanges.get(policy)) is None:
            known = self._exchanges[policy] = self._directory.new_path()
        known.mkdir(mode=0o700, exist_ok=True)
        return known

    def close(self) -> None:
        """When no process is left."""
        for path in self._exchanges.values():
            shutil.rmtree(path, ignore_errors=True)
            self._directory.release(path)
        self._exchanges.clear()


def decide(
    mode: SandboxMode,
    situation: Situation,
    find_problem: Callable[[], str | None],
    find_container: Callable[[], str | None],
) -> SandboxPolicy:
    """The kind and its reason. `find_problem`: why bubblewrap cannot be used; `find_container`: what shows that the
    gateway runs in a container. Raises `Refused`."""
    match mode:
        case "none":
            return SandboxPolicy("none", 'the operator has set sandbox = "none"')
        case "container":
            return _use_container(find_container())
        case "bubblewrap":
            if (problem := find_problem()) is not None:
                raise _unavailable(f'This agent must run in a sandbox (sandbox = "bubblewrap"), and {problem}.')
            return SandboxPolicy("bubblewrap", 'the operator has set sandbox = "bubblewrap"')
        case "auto":
            return _decide_auto(situation, find_problem, find_container)
        case _:
            assert_never(mode)


def _use_container(evidence: str | None) -> SandboxPolicy:
    if evidence is None:
        raise _unavailable(
            'The operator has set sandbox = "container", and nothing shows that the gateway runs in a container.'
        )
    return SandboxPolicy("container", f"the gateway runs in a container ({evidence})")


def _decide_auto(
    situation: Situation, find_problem: Callable[[], str | None], find_container: Callable[[], str | None]
) -> SandboxPolicy:
    if situation.is_trusted and not situation.is_unattended:
        return SandboxPolicy("none", "the folder is trusted, and the user is asked before the agent acts")
    why = "tool calls are approved without a question" if situation.is_unattended else "the folder is not trusted"
    if (problem := find_problem()) is None:
        return SandboxPolicy("bubblewrap", why)
    if (evidence := find_container()) is not None:
        return SandboxPolicy("container", f"{why}; the gateway runs in a container ({evidence})")
    if situation.is_unattended:
        raise _unavailable(f"This run needs a sandbox, because {why}, and {problem}.")
    return SandboxPolicy("none", f"{why}, but {problem}", warning=f"The agent runs without a sandbox: {problem}.")


def _unavailable(what: str) -> Refused:
    return Refused(
        f'{what} {REMEDY}, or permit agents to run without a sandbox: sandbox = "none".', code="SANDBOX_UNAVAILABLE"
    )


def _parse_hosts(texts: Sequence[str]) -> Iterator[HostRule]:
    for text in texts:
        try:
            yield parse_rule(text, allows_private=True)
        except ValueError as exc:
            raise ConfigError(f"sandbox_hosts: {exc}") from exc


def _visible_files(definition: AgentDefinition) -> Iterator[Path]:
    """Of the gateway's: the folder of the agent's file, to which its command may refer, and the settings that an agent
    is started with in an untrusted folder. Without these it would read the project's."""
    if definition.source.is_file():
        yield definition.source.parent.resolve()
    yield settings_dir().resolve()
