"""A glance: the few things by which one notices that an agent must be looked at again.

In: a definition and an environment. Out: a value that is only compared. Reads the file system and nothing else: that
takes a fraction of a millisecond, where a look may have to wait for the agent's own commands.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping

from gateway.catalog.definition import AgentDefinition
from gateway.drivers.probe import auth
from gateway.drivers.probe.executable import find


def glance(definition: AgentDefinition, environ: Mapping[str, str] | None = None) -> Hashable:
    """Where its program is and when that was last changed; whether somebody has signed in, as far as a file tells."""
    found = find(definition, os.environ if environ is None else environ)
    if found is None:
        return None
    return found.path, found.transport, _changed(found.path), auth.seen(definition.auth, found.env)


def _changed(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0
