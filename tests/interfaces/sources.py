"""Which layers can say what: read off the code that says it, and off recordings of real agents."""

from __future__ import annotations

import json

from gateway import capability_paths
from gateway.capabilities.agent_facts import probe_layer
from gateway.capabilities.gateway_leaves import LEAVES
from gateway.capabilities.layers import LAYERS, LayerStatement, model_layer
from gateway.capabilities.merge import merge
from gateway.capabilities.session_tools import SUPPORTED
from gateway.capabilities.views import acp, relay
from gateway.capabilities.views.mux_lookup import SOURCES
from gateway.capability_paths import SESSION_OPEN
from gateway.catalog.load import bundled, load_catalog
from gateway.catalog.models.definition import Model
from gateway.drivers.driver_facts import driver_facts
from gateway.web.routes import ROUTES
from gateway.web.transports import transport_layer
from tests.interfaces import interface
from tests.interfaces.all_fields import MODEL, SPELT
from tests.interfaces.recorded import recorded

FREE = ("custom.acp.", "custom.mux.")
"""What an agent's file, and its handshake, may have beside AG-UI's own."""

RELAY = {
    "messaging.attachments": ("multimodal.input.image",),
    "delivery.modes": (capability_paths.STEERING, "custom.relay.delivery.modes"),
    "events.emits": (
        *("tools.supported", "tools.clientProvided"),
        *(path for name in ("canResume", "canFork") for paths in SOURCES[name] for path in paths),
        "custom.relay.events.emits",
    ),
    "actions.invoke": (*(path for paths in SOURCES["supportsMCP"] for path in paths), "tools.clientProvided"),
    "lifecycle.resume": tuple(path for paths in SOURCES["canResume"] for path in paths),
    "lifecycle.fork": tuple(path for paths in SOURCES["canFork"] for path in paths),
    "status": (capability_paths.AVAILABILITY,),
}
"""Fields that are more than what the gateway carries → the leaves that they are made of."""


def paths_of(view: str, path: str) -> list[str]:
    """The leaves of the snapshot that a field is answered from, best first."""
    match view:
        case "agui":
            return [SPELT.get(path, path)]
        case "mux":
            return [path for paths in SOURCES.get(path, ((f"custom.mux.{path}",),)) for path in paths]
        case "acp":
            further = paths_of("mux", acp.MUX_NAMES[path]) if path in acp.MUX_NAMES else []
            media = [f"multimodal.input.{acp.INPUT_NAMES[path]}"] if path in acp.INPUT_NAMES else []
            takes = ["custom.mux.supportsMCP"] if path.startswith("mcp.") else []
            return list(dict.fromkeys([acp.PREFIX + path, *further, *media, *takes]))
        case "relay":
            return list(RELAY.get(path, (f"custom.relay.{path}",)))
    return [f"custom.session.{path}"]


def layers_of(paths: list[str]) -> list[str]:
    """Later ones win."""
    return [layer for layer in LAYERS if any(_states(layer, path) for path in paths)]


CATALOG = load_catalog([bundled()])
CLAUDE = CATALOG["claude"]
NOT_CARRIED = frozenset(("transport.pushNotifications",))
"""Transports of AG-UI that the gateway does not carry: an agent's statement about one is left out."""
AGUI = {SPELT.get(field.path, field.path) for field in interface("agui").fields} - NOT_CARRIED
STATED: dict[str, set[str]] = {
    "profile": AGUI,
    "probe": {path for statement in probe_layer("ready", "1") for path in statement.values},
    "handshake": AGUI
    | {capability_paths.STEERING}
    | {path for report in recorded() for path in report.handshake_layer},
    "model": set(model_layer(CLAUDE, Model.model_validate_json(json.dumps(MODEL))).values),
    "session": {SUPPORTED, SESSION_OPEN} | {path for report in recorded() for path in report.facts},
    "gateway": {
        *relay.with_relay(merge([LayerStatement("gateway", "", transport_layer(ROUTES))])).values,
        *(path for definition in CATALOG.values() for path in driver_facts(definition)),
        *LEAVES,
    },
}


def _states(layer: str, path: str) -> bool:
    return path in STATED[layer] or (layer in ("profile", "handshake") and path.startswith(FREE))
