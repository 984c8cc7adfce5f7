"""Agent Relay's session capabilities, made of what is known now."""

from __future__ import annotations

from copy import deepcopy
from itertools import product
from typing import Any

import pytest

from gateway.capabilities.layers import LayerStatement
from gateway.capabilities.merge import Snapshot, merge
from gateway.capabilities.views import relay
from gateway.capabilities.views.relay import ThreadStatus, status
from gateway.capability_paths import AVAILABILITY, STEERING, unflatten
from gateway.catalog.load import bundled, load_catalog
from tests.capabilities.layer_builders import snapshot

FIELDS: dict[str, tuple[set[str], set[str]]] = {
    "messaging": ({"receive", "attachments"}, {"send"}),
    "delivery": ({"modes"}, {"queue"}),
    "events": ({"emits"}, set()),
    "actions": (set(), {"invoke", "expose"}),
    "lifecycle": ({"release"}, {"pause", "resume", "fork", "snapshot"}),
}
"""The interface `AgentSessionCapabilities`: what each part must have, and what it may have."""

# fmt: off
STATUSES = {
    "starting", "active", "idle", "waiting", "blocked", "paused", "releasing", "released", "offline", "failed",
}
MODES = {"immediate", "next-tool-call", "on-idle"}
EVENTS = {
    "status.changed", "status.idle", "status.active", "status.blocked", "status.waiting", "status.offline",
    "tool.called", "tool.completed", "tool.failed", "tool.output", "message.received", "message.sent",
    "delivery.accepted", "delivery.delivered", "delivery.deferred", "delivery.failed", "action.invoked",
    "action.completed", "action.failed", "action.denied", "transcript.chunk", "file.changed", "command.started",
    "command.completed", "command.failed", "terminal.output", "terminal.screen", "usage.updated", "session.started",
    "session.released", "session.resumed", "session.forked", "log", "error",
}
# fmt: on

CATALOG = load_catalog([bundled()])
READY = LayerStatement("probe", "a look", {AVAILABILITY: "ready"})


def check_interface(capabilities: dict[str, Any]) -> None:
    assert capabilities.keys() - {"status"} == FIELDS.keys()
    for part, (must, may) in FIELDS.items():
        assert must <= capabilities[part].keys() <= must | may, part
    flags = {
        **capabilities["messaging"],
        **capabilities["delivery"],
        **capabilities["actions"],
        **capabilities["lifecycle"],
    }
    lists = {name: flags.pop(name) for name in ("attachments", "modes")}
    assert all(isinstance(value, bool) for value in flags.values())
    assert capabilities["messaging"]["receive"] is capabilities["lifecycle"]["release"] is True
    assert "text" in lists["attachments"] and set(lists["attachments"]) <= {"text", "image"}
    assert lists["modes"] and set(lists["modes"]) <= MODES
    assert set(capabilities["events"]["emits"]) <= EVENTS
    assert capabilities.get("status", "idle") in STATUSES


def snapshot_with(**values: Any) -> Snapshot:
    """A snapshot with these leaves: `tools__supported=True`."""
    return merge(
        [LayerStatement("handshake", "a test", {path.replace("__", "."): value for path, value in values.items()})]
    )


@pytest.mark.parametrize("name", sorted(CATALOG))
def test_every_agent_has_the_interface_s_own_names(name: str) -> None:
    check_interface(relay.view(snapshot(CATALOG[name], READY), ThreadStatus()))
    check_interface(relay.view(snapshot(CATALOG[name])))


@pytest.mark.parametrize(("steers", "more"), [(True, ["next-tool-call"]), (False, []), (None, [])])
def test_only_the_delivery_that_works_is_declared(steers: bool | None, more: list[str]) -> None:
    capabilities = relay.view(snapshot_with() if steers is None else snapshot_with(custom__gateway__steering=steers))
    assert capabilities["delivery"] == {"modes": ["immediate", "on-idle", *more], "queue": True}


def test_session_events_are_declared_for_an_agent_that_can_resume() -> None:
    without = relay.view(snapshot_with())["events"]["emits"]
    with_ability = relay.view(snapshot_with(custom__acp__loadSession=True, custom__acp__forkSession=True))["events"][
        "emits"
    ]
    assert set(with_ability) - set(without) == {*relay.SESSION_EVENTS, "session.forked"}


@pytest.mark.parametrize(("takes", "attachments"), [(True, ["text", "image"]), (False, ["text"]), (None, ["text"])])
def test_images_are_taken_where_the_agent_is_known_to_take_them(takes: bool | None, attachments: list[str]) -> None:
    capabilities = relay.view(snapshot_with() if takes is None else snapshot_with(multimodal__input__image=takes))
    assert capabilities["messaging"] == {"receive": True, "send": False, "attachments": attachments}


def test_tools_are_seen_of_an_agent_that_has_them() -> None:
    with_tools, without = (relay.view(snapshot_with(tools__supported=has))["events"]["emits"] for has in (True, False))
    assert set(with_tools) - set(without) == {"tool.called", "tool.completed", "tool.failed"}
    assert relay.view(snapshot_with())["events"]["emits"] == without


@pytest.mark.parametrize(
    ("mcp", "client", "invokes"),
    [
        (True, False, True),
        (False, True, True),
        (True, None, True),
        (False, False, False),
        (False, None, None),
        (None, None, None),
    ],
)
def test_actions_are_invoked_as_tools_by_either_way(
    mcp: bool | None, client: bool | None, invokes: bool | None
) -> None:
    inputs = {"custom__mux__supportsMCP": mcp, "tools__clientProvided": client}
    capabilities = relay.view(snapshot_with(**{name: value for name, value in inputs.items() if value is not None}))
    assert capabilities["actions"] == {"expose": False} | ({} if invokes is None else {"invoke": invokes})


def test_how_a_session_comes_back_is_the_agent_s_own_ability() -> None:
    with_ability = relay.view(snapshot_with(custom__acp__loadSession=True, custom__acp__forkSession=False))["lifecycle"]
    fixed = {"release": True, "pause": False, "snapshot": False}
    assert with_ability == fixed | {"resume": True, "fork": False}
    assert relay.view(snapshot_with())["lifecycle"] == fixed


def test_what_holds_for_every_session_is_stated_by_the_gateway() -> None:
    assert unflatten(relay.LAYER) == {"custom": {"relay": relay.GATEWAY_FIELDS}}
    capabilities = relay.view(merge([LayerStatement("gateway", "what it carries", relay.LAYER)]))
    assert all(fields.items() <= capabilities[part].items() for part, fields in relay.GATEWAY_FIELDS.items())


def test_calls_of_the_client_s_own_tools_have_events() -> None:
    assert set(relay.TOOL_EVENTS) <= set(relay.view(snapshot_with(tools__clientProvided=True))["events"]["emits"])


# -- under `custom.relay`

CARRIES = LayerStatement("gateway", "what it carries", relay.LAYER)


@pytest.mark.parametrize("name", sorted(CATALOG))
def test_a_plain_client_reads_of_every_agent_all_of_the_view_but_the_status(name: str) -> None:
    for more in ((), (READY,), (LayerStatement("handshake", "it steers", {STEERING: True}),)):
        plain = relay.with_relay(snapshot(CATALOG[name], CARRIES, *more))
        view = relay.view(plain)
        view.pop("status", None)
        assert plain.tree()["custom"]["relay"] == view


def test_each_path_names_what_it_is_derived_from_and_the_sources() -> None:
    capabilities = {"custom.acp.loadSession": True, STEERING: True}
    explained = relay.with_relay(merge([CARRIES, LayerStatement("handshake", "initialize", capabilities)])).explain()
    relays = {path: capabilities for path, capabilities in explained.items() if path.startswith(relay.PREFIX)}
    assert {entry["layer"] for entry in relays.values()} == {"gateway"}
    sources = {path.removeprefix(relay.PREFIX): entry["source"] for path, entry in relays.items()}
    assert sources["lifecycle.release"] == "what it carries"
    assert sources["messaging.attachments"] == "what this gateway carries"
    assert sources["delivery.modes"] == "made of custom.gateway.steering by handshake (initialize)"
    assert sources["lifecycle.resume"] == "made of custom.acp.loadSession by handshake (initialize)"
    assert "lifecycle.fork" not in sources


@pytest.mark.parametrize("stated", [{"lifecycle.fork": True}, {"events": 5}, {"delivery.modes": []}, {"mine": {}}])
def test_what_a_mounted_gateway_states_there_is_not_this_one_s(stated: dict[str, Any]) -> None:
    far = LayerStatement("handshake", "another gateway", {relay.PREFIX + path: value for path, value in stated.items()})
    assert relay.with_relay(merge([CARRIES, far])).tree() == relay.with_relay(merge([CARRIES])).tree()
    odd = LayerStatement("handshake", "nonsense", {"custom.relay": "no"})
    assert relay.with_relay(merge([CARRIES, odd])).tree() == relay.with_relay(merge([CARRIES])).tree()


def test_a_view_changes_nothing_for_the_next_request() -> None:
    before = deepcopy(relay.GATEWAY_FIELDS)
    relay.view(snapshot_with(tools__supported=True, custom__acp__loadSession=True, tools__clientProvided=True))
    assert before == relay.GATEWAY_FIELDS


# -- status


@pytest.mark.parametrize(
    ("standing", "expected"),
    [
        (ThreadStatus(has_live_run=True, is_starting=True), "starting"),
        (ThreadStatus(has_live_run=True), "active"),
        (ThreadStatus(has_live_run=True, exists=False), "active"),
        (ThreadStatus(is_parked=True, has_open_interrupt=True), "blocked"),
        (ThreadStatus(has_open_interrupt=True), "blocked"),
        (ThreadStatus(is_parked=True), "waiting"),
        (ThreadStatus(), "idle"),
        (ThreadStatus(exists=False), "idle"),
        (ThreadStatus(exists=False, last_outcome="offline"), "offline"),
        (ThreadStatus(last_outcome="failed"), "failed"),
        (ThreadStatus(last_outcome="waiting"), "waiting"),
        (ThreadStatus(last_outcome="released"), "released"),
        (ThreadStatus(last_outcome="released", has_live_run=True), "active"),
        (ThreadStatus(last_outcome="failed", has_open_interrupt=True), "blocked"),
        (ThreadStatus(last_outcome="released", exists=False), "idle"),
    ],
)
def test_the_status_is_where_the_thread_is(standing: ThreadStatus, expected: str) -> None:
    assert status(standing, "ready") == expected
    assert status(standing, None) == expected


@pytest.mark.parametrize(
    ("availability", "expected"),
    [("ready", "idle"), ("needs-auth", "offline"), ("not-installed", "offline"), ("broken", "failed"), (None, None)],
)
def test_without_a_thread_the_status_is_the_agent_s(availability: str | None, expected: str | None) -> None:
    assert status(None, availability) == expected
    seen = {} if availability is None else {AVAILABILITY.replace(".", "__"): availability}
    assert relay.view(snapshot_with(**seen)).get("status") == expected


@pytest.mark.parametrize(("availability", "expected"), [("needs-auth", "offline"), ("broken", "failed")])
def test_an_agent_that_cannot_run_has_no_idle_thread_but_what_is_under_way_goes_on(
    availability: str, expected: str
) -> None:
    assert status(ThreadStatus(), availability) == expected
    assert status(ThreadStatus(has_live_run=True), availability) == "active"
    assert status(ThreadStatus(has_open_interrupt=True), availability) == "blocked"


def test_no_thread_is_without_a_status_of_the_interface() -> None:
    for flags, seen in product(product((False, True), repeat=5), ("ready", "needs-auth", "broken", None)):
        exists, has_live_run, is_starting, is_parked, has_open_interrupt = flags
        assert status(ThreadStatus(exists, has_live_run, is_starting, is_parked, has_open_interrupt), seen) in STATUSES
