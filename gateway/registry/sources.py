"""Where agents come from, read at the start: bundled files, installed packages, the operator's folders, `--acp`."""

from __future__ import annotations

from gateway.catalog.load import bundled, with_bare
from gateway.catalog.plugins import load_plugins
from gateway.errors import ConfigError
from gateway.registry.file_watcher import AgentFolder
from gateway.registry.overlays import Overlay
from gateway.settings import Settings


def read_overlays(settings: Settings) -> list[Overlay]:
    """Later ones are laid over earlier ones, and registrations by HTTP over all of them. Raises `ConfigError`."""
    overlays = [
        AgentFolder(bundled()),
        Overlay("entry points", load_plugins()),
        *(AgentFolder(folder) for folder in settings.agents),
        Overlay("--acp", with_bare({}, settings.acp)),
    ]
    known = sorted({agent_id for overlay in overlays for agent_id in overlay.catalog})
    if settings.default_agent not in (None, *known):
        raise ConfigError(f"default_agent: there is no agent {settings.default_agent!r}. Known: {', '.join(known)}.")
    return overlays
