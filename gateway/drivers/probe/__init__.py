"""Can this agent run here? Its program, its version, its platform, and whether its user is signed in.

In: an agent's definition and the gateway's environment. Out: an `Availability` (`probe`), or the found program alone
(`find`). Only commands that the definition names are run, in bounded time and never twice at once; no process of theirs
outlives the bound. `fingerprint` and `seems_installed` read the file system alone and are quick.
"""

from gateway.drivers.probe.availability import BEST_FIRST, Availability, Prerequisite, Status
from gateway.drivers.probe.executable import find
from gateway.drivers.probe.fingerprint import fingerprint
from gateway.drivers.probe.probe import check_version_command, probe
from gateway.drivers.probe.python_module import seems_installed

__all__ = [
    "BEST_FIRST",
    "Availability",
    "Prerequisite",
    "Status",
    "check_version_command",
    "find",
    "fingerprint",
    "probe",
    "seems_installed",
]
