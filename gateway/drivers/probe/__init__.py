"""Can this agent run here? Its program, its version, its system, and the signs that somebody is signed in.

In: an agent's definition and the gateway's environment. Out: an `Availability`. Nothing is started but what the
definition names for it, bounded in time and never twice at once; nothing of it outlives its bound.
"""

from gateway.drivers.probe.availability import BEST_FIRST, Availability, Prerequisite, Status
from gateway.drivers.probe.executable import find
from gateway.drivers.probe.fingerprint import glance
from gateway.drivers.probe.probe import answers, probe
from gateway.drivers.probe.python_module import at_hand

__all__ = ["BEST_FIRST", "Availability", "Prerequisite", "Status", "answers", "at_hand", "find", "glance", "probe"]
