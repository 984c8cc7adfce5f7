"""Where the facts of a session stand in the snapshot: one place for each, whichever agent tells it.

Below `custom.session`, by dotted path. What only one agent has stays under its own name (`custom.codex.summary`), and
what an ACP agent told of itself in its handshake under `custom.acp`.
"""

from __future__ import annotations

HERE = "custom.session"

MODE, MODES = f"{HERE}.modes.current", f"{HERE}.modes.available"
"""An id; a list of `id name description`."""
MODEL, MODELS = f"{HERE}.models.current", f"{HERE}.models.available"
"""Likewise. The current one is told as a run may ask for it."""
PROVIDER = f"{HERE}.models.provider"
"""Who serves the model."""
EFFORT = f"{HERE}.effort"
"""How hard it thinks, in the agent's own word."""
CONFIG = f"{HERE}.config"
"""What else can be set: a list of `id name description category type value`, and `options` of `value name description
group`."""
COMMANDS = f"{HERE}.commands"
"""A list of `name description hint`."""
PERMISSION, SANDBOX = f"{HERE}.permissions.mode", f"{HERE}.permissions.sandbox"
"""When it asks before it acts, and what it is kept from, in the agent's own words."""
CWD = f"{HERE}.cwd"
TITLE, UPDATED = f"{HERE}.info.title", f"{HERE}.info.updatedAt"
USED, SIZE, COST = f"{HERE}.usage.used", f"{HERE}.usage.size", f"{HERE}.usage.cost"
"""Tokens in the context, how many it holds; `amount currency` so far."""
SERVERS = f"{HERE}.mcpServers"
"""A list of `name status error`."""
SKILLS = f"{HERE}.skills"
"""Names."""
