"""A cheap fingerprint of an agent: when it changes, the agent has to be probed again.

In: a definition and an environment. Out: a value that is only compared. Reads the file system and nothing else, which
takes a fraction of a millisecond; a probe may have to wait for the agent's own commands.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping

from gateway.catalog.definition import AgentDefinition
from gateway.drivers.probe.auth import has_static_sign
from gateway.drivers.probe.executable import find


def fingerprint(definition: AgentDefinition, environ: Mapping[str, str] | None = None) -> Hashable:
    """The program's path and time of change, and whether variables and files show that a user is signed in."""
    program = find(definition, os.environ if environ is None else environ)
    if program is None:
        return None
    signed_in = has_static_sign(program.auth, program.env)
    return program.path, program.transport, _modified_at(program.path), signed_in


def _modified_at(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0
