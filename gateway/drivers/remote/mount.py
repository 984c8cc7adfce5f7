"""Another agui-gateway, mounted: its agents as definitions of this one's.

In: a definition with `[remote] agents`. Out: one remote definition for each of its agents, `ID.THEIRS`. An agent that
the other gateway has from this one, however far around, is left out: nothing may lead back to where it began.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from typing import Any

import httpx

from gateway.catalog.definition import AgentDefinition
from gateway.catalog.field_types import OPTIONS
from gateway.catalog.load import InvalidDefinition, define
from gateway.catalog.sections import Remote
from gateway.drivers.address_policy import PinnedTransport
from gateway.drivers.remote.http import ask
from gateway.drivers.remote.requests import headers
from gateway.errors import AgentFault

LIST_LIMIT = 15.0
SHOWN = ("name", "description", "provider", "version")

log = logging.getLogger(__name__)


class MountedGateway:
    """One other gateway."""

    def __init__(self, definition: AgentDefinition, own_id: str) -> None:
        """Raises `ConfigError` for a header that names what is not set."""
        assert definition.remote is not None  # the definition was checked
        self._definition, self._remote, self._own_id = definition, definition.remote, own_id
        self._client = httpx.AsyncClient(
            timeout=httpx.Timeout(self._remote.connect_timeout, read=LIST_LIMIT),
            headers=headers(self._remote, definition, os.environ),
            transport=PinnedTransport(private=definition.private),
            trust_env=False,
            follow_redirects=False,
        )

    async def agents(self) -> list[AgentDefinition]:
        """Those that it has now. Raises `AgentFault`."""
        url = f"{self._remote.url.rstrip('/')}/agents"
        try:
            answer = await ask(self._client, url, LIST_LIMIT)
        except (httpx.HTTPError, TimeoutError) as exc:
            why = f"{type(exc).__name__}: {exc}".rstrip(": ")
            raise AgentFault(f"the gateway at {url} cannot be reached: {why}", code="AGENT_UNREACHABLE") from exc
        if answer.status != 200:
            raise answer.refusal()
        return list(mounted(self._definition, self._remote, answer.json(), self._own_id))

    async def aclose(self) -> None:
        await self._client.aclose()


def mounted(definition: AgentDefinition, remote: Remote, told: Any, own_id: str) -> Iterator[AgentDefinition]:
    match told:
        case {"gateway": str(far_id), "agents": list(listed)}:
            pass
        case _:
            raise AgentFault(f"what is at {remote.url} is no agui-gateway", code="AGENT_PROTOCOL_ERROR")
    for one in listed:
        match one:
            case {"id": str(name)} if remote.agents == "*" or name in (remote.agents or ()):
                via = (far_id, *_names(one.get("via")))
                if own_id not in via:
                    yield from _define(definition, remote, name, one, via)


def _define(
    definition: AgentDefinition, remote: Remote, name: str, one: Mapping[str, Any], via: tuple[str, ...]
) -> Iterator[AgentDefinition]:
    identity = one.get("identity")
    said = identity if isinstance(identity, Mapping) else {}
    shown = {key: said[key] for key in SHOWN if isinstance(said.get(key), str)}
    table = {
        "id": f"{definition.id}.{name}",
        "driver": "remote",
        "identity": {"name": name, **shown},
        # One that is newer than this gateway would be refused at its door.
        "options": [name for name in _names(one.get("options")) if name in OPTIONS],
        "merge": definition.merge,
        "stall_timeout": definition.stall_timeout,
    }
    try:
        made = define({**table, "remote": {"url": remote.url}}, definition.source, private=definition.private)
    except InvalidDefinition as exc:
        log.warning("agent %s: the gateway's agent %r is left out: %s", definition.id, name, exc)
        return
    way = remote.model_copy(update={"url": f"{remote.url.rstrip('/')}/agents/{name}", "agents": None})
    yield made.model_copy(update={"remote": way, "via": via})


def _names(told: Any) -> list[str]:
    return [name for name in told if isinstance(name, str)] if isinstance(told, list) else []
