"""Leaves that follow from what others state, and from how the gateway carries it. Pure.

In: all other layers of a snapshot. Out: one statement of the gateway. A run that waits for its user ends with AG-UI's
outcome `interrupt`; what needs an interrupt is not offered where there can be none.
https://docs.ag-ui.com/concepts/capabilities
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from gateway.capabilities.statement import LAYERS, LayerStatement
from gateway.capability_paths import ACP, STEERING, TRUST
from gateway.catalog.definition import AgentDefinition

SOURCE = "what follows from the other capabilities"

SUPPORTED = "humanInTheLoop.supported"
APPROVALS = "humanInTheLoop.approvals"
FEEDBACK = "humanInTheLoop.feedback"
INTERRUPTS = "humanInTheLoop.interrupts"
INTERVENTIONS = "humanInTheLoop.interventions"
EDITS = "humanInTheLoop.approveWithEdits"
ENCRYPTED = "reasoning.encrypted"
MIME_TYPES = "output.supportedMimeTypes"
EXECUTION_TIME = "execution.maxExecutionTime"
RUN_TIMEOUT = "run_timeout"
"""The setting, and the key of an agent's file, that limits a run's whole time."""

LEAVES = (SUPPORTED, INTERRUPTS, INTERVENTIONS, EDITS, ENCRYPTED, MIME_TYPES, EXECUTION_TIME)
"""The paths that are stated here."""

TEXT_TYPES = ("text/plain", "text/markdown")
"""What agents answer in, whatever they are asked for."""
JSON_TYPE = "application/json"


def gateway_leaves(definition: AgentDefinition, layers: Sequence[LayerStatement]) -> LayerStatement | None:
    """None for an agent whose own statement is all there is: a function, or an agent behind another gateway."""
    if not definition.is_local_process:
        return None
    stated = StatedValues(layers)
    values = {**_interrupt_leaves(stated), **_output_leaves(stated)}
    return LayerStatement("gateway", SOURCE, values) if values else None


def time_limit(definition: AgentDefinition, default: float, layers: Sequence[LayerStatement]) -> LayerStatement | None:
    """The gateway's limit for the whole time of a run, in AG-UI's milliseconds. `default`: the setting, in seconds.
    None where the agent itself states a shorter time."""
    seconds = definition.run_timeout or default
    limit = math.ceil(seconds * 1000)
    stated = StatedValues(layers).get(EXECUTION_TIME)
    if isinstance(stated, int) and stated < limit:
        return None
    source = "the gateway's settings" if definition.run_timeout is None else definition.source.name
    return LayerStatement("gateway", source, {EXECUTION_TIME: limit}, key_of=lambda path: RUN_TIMEOUT)


class StatedValues:
    """The value that decides, for each path that is asked for."""

    def __init__(self, layers: Sequence[LayerStatement]) -> None:
        self._layers = sorted(layers, key=lambda statement: LAYERS.index(statement.layer))

    def get(self, path: str) -> Any:
        return next((each.values[path] for each in reversed(self._layers) if path in each.values), None)

    @property
    def has_handshake(self) -> bool:
        """The agent has answered ACP's `initialize`."""
        handshakes = (each.values for each in self._layers if each.layer == "handshake")
        return any(path.startswith(f"{ACP}.") for values in handshakes for path in values)


def _interrupt_leaves(stated: StatedValues) -> dict[str, Any]:
    leaves: dict[str, Any] = {}
    approvals = stated.get(APPROVALS)
    interrupts = stated.get(INTERRUPTS)
    if interrupts is None:
        # The gateway asks for its own sake, too: whether a folder may configure the agent.
        asks_itself = stated.get(f"{TRUST}.state") == "unknown"
        interrupts = leaves[INTERRUPTS] = approvals is not False or stated.get(FEEDBACK) is True or asks_itself
    if stated.get(EDITS) is True and (approvals is False or not interrupts):
        leaves[EDITS] = False
    if stated.has_handshake:
        leaves[INTERVENTIONS] = stated.get(STEERING) is True  # the agent's answer to `initialize` says it
    interventions = leaves.get(INTERVENTIONS, stated.get(INTERVENTIONS))
    if stated.get(SUPPORTED) is True and not interrupts and interventions is False:
        leaves[SUPPORTED] = False  # in this mode nothing of it is left
    return leaves


def _output_leaves(stated: StatedValues) -> dict[str, Any]:
    leaves: dict[str, Any] = {}
    if stated.get(ENCRYPTED) is None and stated.get("reasoning.supported") is True:
        leaves[ENCRYPTED] = False  # thoughts come as text or not at all
    if stated.get(MIME_TYPES) is None:
        has_json = stated.get("output.structuredOutput") is True
        leaves[MIME_TYPES] = [*TEXT_TYPES, JSON_TYPE] if has_json else list(TEXT_TYPES)
    return leaves
