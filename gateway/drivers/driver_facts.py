"""What is known of an agent from the way it is run, before it was ever started.

In: the definition of the transport in use. Out: dotted capability path → value. `driver_facts` are facts of the
gateway's own code, which no agent can change; `driver_modes` is a list that a session may replace. Never: anything that
only the agent knows; that stays absent.
"""

from __future__ import annotations

from typing import Any

from gateway.capability_paths import MODES
from gateway.catalog.definition import AgentDefinition
from gateway.catalog.sections import Cli
from gateway.events import Layer
from gateway.wire.dialects import DIALECTS, Dialect

FEEDBACK = "humanInTheLoop.feedback"
"""The text that a user gives with a denial reaches the agent."""
NEVER_SENT = {"state.snapshots": False, "state.deltas": False, "multiAgent.handoffs": False}
"""Neither ACP nor any of the dialects has AG-UI's shared state, and a thread stays with its agent."""


def driver_facts(definition: AgentDefinition) -> Layer:
    """Empty for an agent whose own statement is all there is (`python`, `remote`)."""
    if definition.driver == "acp":
        # The answer to `session/request_permission` is an option, in both versions: there is no place for a text.
        return {**NEVER_SENT, "state.persistentState": True, FEEDBACK: False}
    return {} if definition.driver != "cli" or definition.cli is None else _cli_facts(definition.cli)


def _cli_facts(cli: Cli) -> Layer:
    dialect = DIALECTS.get(cli.dialect, Dialect)  # a definition with another one is refused when it is run
    facts: dict[str, Any] = {} if dialect.sends_state else dict(NEVER_SENT)
    # A process for each turn that cannot resume a conversation knows only what the gateway tells it again.
    facts["state.persistentState"] = cli.process != "turn" or cli.flags.resume is not None
    facts["humanInTheLoop.interventions"] = dialect.can_steer
    if not dialect.can_ask:
        facts["humanInTheLoop.approvals"] = False
    if not dialect.takes_feedback:
        facts[FEEDBACK] = False
    if not dialect.can_call_client_tools:
        facts["tools.clientProvided"] = False
    return facts


def driver_modes(definition: AgentDefinition) -> Layer:
    """The modes that the dialect can set in every session."""
    if definition.cli is None or definition.driver != "cli" or definition.cli.process == "turn":
        return {}
    modes = DIALECTS.get(definition.cli.dialect, Dialect).list_modes(definition.cli.params)
    return {MODES: modes} if modes else {}
