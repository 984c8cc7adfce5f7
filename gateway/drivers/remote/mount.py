"""Another agui-gateway, mounted: its agents as definitions of this gateway.

In: a definition with `[remote] agents`. Out: one remote definition for each of its agents, with the id
`MOUNT.AGENT`. An agent that the other gateway has from this one, directly or through further gateways, is left out:
a run must not come back to the gateway where it began.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from typing import Any

import httpx2

from gateway.catalog.definition import AgentDefinition
from gateway.catalog.field_types import OPTIONS
from gateway.catalog.load import InvalidDefinition, define
from gateway.catalog.sections import Remote
from gateway.drivers.address_policy import pinned_client
from gateway.drivers.remote.http import send_request
from gateway.drivers.remote.requests import describe_error, request_headers
from gateway.errors import AgentFault

LIST_TIMEOUT_SECONDS = 15.0
IDENTITY_FIELDS = ("name", "description", "provider", "version")
"""Fields of an agent's identity that are taken over."""

log = logging.getLogger(__name__)


class MountedGateway:
    """One other gateway."""

    def __init__(self, definition: AgentDefinition, own_id: str) -> None:
        """Raises `ConfigError` for a header with an environment variable that is not set."""
        assert definition.remote is not None  # the definition was checked
        self._definition = definition
        self._remote = definition.remote
        self._own_id = own_id
        self._client = pinned_client(
            private=definition.private,
            timeout=httpx2.Timeout(self._remote.connect_timeout, read=LIST_TIMEOUT_SECONDS),
            headers=request_headers(self._remote, definition, os.environ),
        )

    async def agents(self) -> list[AgentDefinition]:
        """The agents it has now. Raises `AgentFault`."""
        url = f"{self._remote.url.rstrip('/')}/agents"
        try:
            response = await send_request(self._client, url, LIST_TIMEOUT_SECONDS)
        except (httpx2.HTTPError, TimeoutError) as exc:
            detail = f"the gateway at {url} cannot be reached: {describe_error(exc)}"
            raise AgentFault(detail, code="AGENT_UNREACHABLE") from exc
        if response.status != 200:
            raise response.to_fault()
        return list(define_agents(self._definition, self._remote, response.json(), self._own_id))

    async def aclose(self) -> None:
        await self._client.aclose()


def define_agents(definition: AgentDefinition, remote: Remote, body: Any, own_id: str) -> Iterator[AgentDefinition]:
    """`body`: the other gateway's `GET /agents`."""
    match body:
        case {"gateway": str(gateway_id), "agents": list(entries)}:
            pass
        case _:
            raise AgentFault(f"what is at {remote.url} is no agui-gateway", code="AGENT_PROTOCOL_ERROR")
    for entry in entries:
        match entry:
            case {"id": str(name)} if remote.agents == "*" or name in (remote.agents or ()):
                via = (gateway_id, *_read_names(entry.get("via")))
                if own_id not in via:
                    yield from _define_agent(definition, remote, name, entry, via)


def _define_agent(
    definition: AgentDefinition, remote: Remote, name: str, entry: Mapping[str, Any], via: tuple[str, ...]
) -> Iterator[AgentDefinition]:
    identity = entry.get("identity")
    fields = identity if isinstance(identity, Mapping) else {}
    table = {
        "id": f"{definition.id}.{name}",
        "driver": "remote",
        "identity": {"name": name, **{key: fields[key] for key in IDENTITY_FIELDS if isinstance(fields.get(key), str)}},
        # An option of a newer gateway is unknown here: it would be refused when a client sends it.
        "options": [option for option in _read_names(entry.get("options")) if option in OPTIONS],
        "merge": definition.merge,
        "stall_timeout": definition.stall_timeout,
        "run_timeout": definition.run_timeout,
    }
    try:
        agent = define({**table, "remote": {"url": remote.url}}, definition.source, private=definition.private)
    except InvalidDefinition as exc:
        log.warning("agent %s: the gateway's agent %r is left out: %s", definition.id, name, exc)
        return
    section = remote.model_copy(update={"url": f"{remote.url.rstrip('/')}/agents/{name}", "agents": None})
    yield agent.model_copy(update={"remote": section, "via": via})


def _read_names(value: Any) -> list[str]:
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []
