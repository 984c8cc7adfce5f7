"""Capabilities by dotted AG-UI path, and the paths that the gateway adds below `custom`.

In: a capabilities object (https://docs.ag-ui.com/concepts/capabilities). Out: the same as one value for each path
(`{"multimodal.input.image": True}`), and back. AG-UI's own names have no dots. A key below `custom` may: there `~1`
stands for a dot and `~0` for a tilde.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

# -- what a session has and is set to, whichever agent reports it

SESSION = "custom.session"

MODE = f"{SESSION}.modes.current"
"""An id."""
MODES = f"{SESSION}.modes.available"
"""A list of `id name description`."""
MODEL = f"{SESSION}.models.current"
"""An id, in the form that a run may ask for."""
MODELS = f"{SESSION}.models.available"
"""A list of `id name description`; where the agent states them, also `efforts`, by its own names, and `default`."""
PROVIDER = f"{SESSION}.models.provider"
"""The provider that serves the model."""
EFFORT = f"{SESSION}.effort"
"""The reasoning effort, by the agent's own name for it."""
CONFIG = f"{SESSION}.config"
"""Other settings: a list of `id name description category type value`, and `options` of `value name description
group`."""
COMMANDS = f"{SESSION}.commands"
"""A list of `name description hint`."""
PERMISSION_MODE = f"{SESSION}.permissions.mode"
"""When the agent asks before it acts, by its own name for it."""
SANDBOX = f"{SESSION}.permissions.sandbox"
"""What the agent is kept from, by its own name for it."""
CWD = f"{SESSION}.cwd"
SESSION_OPEN = f"{SESSION}.open"
"""False: the session is closed, and this is what the next one will be set to."""
TITLE = f"{SESSION}.info.title"
UPDATED_AT = f"{SESSION}.info.updatedAt"
USED_TOKENS = f"{SESSION}.usage.used"
"""Tokens in the context."""
CONTEXT_TOKENS = f"{SESSION}.usage.size"
"""Tokens that the context can hold."""
COST = f"{SESSION}.usage.cost"
"""`amount currency` so far."""
MCP_SERVERS = f"{SESSION}.mcpServers"
"""What the agent reports of its MCP servers: a list of `name status error`."""
SKILLS = f"{SESSION}.skills"
"""A list of names."""

# -- what the gateway knows of an agent

GATEWAY = "custom.gateway"
OPTIONS = f"{GATEWAY}.options"
"""Below it, by an option's name: what a run may ask for. True: anything; an object: `values`, `min`, `max`, `open`,
`names`, `transports`; false: the option is refused. An option that is missing is not known yet."""
TRANSPORT = f"{GATEWAY}.transport"
"""The name of the transport in use."""
STEERING = f"{GATEWAY}.steering"
"""Whether a user's message can join the turn under way."""
TRUST = f"{GATEWAY}.trust"
"""Whether the agent may read the configuration of the project it works in: `state folder decidedBy untrustedStart`."""
AVAILABILITY = f"{GATEWAY}.availability.status"
SEEN_TOOLS = f"{GATEWAY}.tools.seen"
"""Names of the tools that a session has called."""
WORKTREE = f"{GATEWAY}.worktree"
"""The thread's git worktree: `branch`, `path`, `base`."""
GATEWAY_MCP = f"{GATEWAY}.mcp"
"""Below it, by a server's name: `status`, `transport`, `reason`, `tools` (how many), `complete`, `source`."""
GATEWAY_SANDBOX = f"{GATEWAY}.sandbox"
"""Below it, of a session: `kind`, `reason`, `warning`, `hosts`, `writable`, `limits`; of an agent: `mode`, `kind` or
`untrusted` (the kind in an untrusted folder), `reason`, `limits`."""

# -- what only one protocol or program has

ACP = "custom.acp"
"""What an ACP agent answered to `initialize`."""
MUX = "custom.mux"
"""Fields of agent-mux's agent manifest."""


def flatten(tree: Mapping[str, Any]) -> dict[str, Any]:
    """A capabilities object by path. A list is one value; so is an empty object, but for an empty category."""
    return dict(_values(tree, ""))


def _values(tree: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for key, value in tree.items():
        path = prefix + escape_key(key)
        if value is None:
            continue
        if isinstance(value, Mapping) and value:
            yield from _values(value, f"{path}.")
        elif value != {} or prefix:
            yield path, value


def unflatten(values: Mapping[str, Any]) -> dict[str, Any]:
    """The object with these values. No path may lead through another one's value."""
    tree: dict[str, Any] = {}
    for path, value in values.items():
        *parents, last = (unescape_key(key) for key in path.split("."))
        node = tree
        for parent in parents:
            node = node.setdefault(parent, {})
        node[last] = value
    return tree


def escape_key(key: str) -> str:
    """A key as one step of a path."""
    return key.replace("~", "~0").replace(".", "~1")


def unescape_key(step: str) -> str:
    return step.replace("~1", ".").replace("~0", "~")
