"""A gateway over a gateway looks to the official client like one gateway: the same events, field by field."""

from __future__ import annotations

import pytest

from gateway.agui.validate import EVENT_TYPES
from tests.behaviour.remote.comparison import same_form
from tests.behaviour.remote.conftest import SCRIPTED, Federation, every_talk
from tests.clients.scenarios import PROTOBUF, SSE, Client

NAMES = list(every_talk(SSE))
CHUNKS = {kind for kind in EVENT_TYPES if kind.endswith("_CHUNK")}
"""These a gateway expands, so that no client sees one."""

every_client = pytest.mark.parametrize("client", [SSE, PROTOBUF], ids=lambda client: client.name)
every_way = pytest.mark.parametrize("way", ["SSE between", "protobuf between"])


@every_way
@every_client
@pytest.mark.parametrize("name", [name for name in NAMES if name != "endless!"])
def test_a_run_is_the_same_through_two_gateways(federation: Federation, client: Client, way: str, name: str) -> None:
    merged = not name.endswith("!")
    through_one = same_form(federation.talk(client, "one gateway", name), merged=merged)
    through_two = same_form(federation.talk(client, way, name), merged=merged)
    for one, two in zip(through_one, through_two, strict=True):
        for key in one:
            assert two[key] == one[key], key


@every_way
@every_client
def test_a_run_whose_client_disconnects_is_stopped_there_too(federation: Federation, client: Client, way: str) -> None:
    direct = federation.talk(client, "one gateway", "endless!")
    stopped = federation.talk(client, way, "endless!")
    for one, two in zip(direct, stopped, strict=True):
        assert (two.complaints, two.seen["runErrors"], two.seen["rejected"]) == (
            one.complaints,
            one.seen["runErrors"],
            one.seen["rejected"],
        )
        assert set(two.types) == set(one.types)
    for step in stopped:
        far = federation.far.client.get(f"/runs/{step.run_id}/events").text
        assert '"outcome":{"type":"cancelled"}' in far


def test_all_kinds_of_events_are_seen_here(federation: Federation) -> None:
    seen = {kind for name in NAMES for step in federation.talk(SSE, "SSE between", name) for kind in step.types}
    assert seen == EVENT_TYPES - CHUNKS


def test_the_script_does_what_it_is_there_for(federation: Federation) -> None:
    """Two streams that are equally broken would be the same, too."""
    last = {name: federation.talk(SSE, "SSE between", f"{name}!")[-1] for name in SCRIPTED}
    assert [name for name, step in last.items() if step.complaints and name != "endless"] == []
    assert last["asks"].said == "In the end: {'ok': True}"
    assert last["asks_anew"].types[-1] == "RUN_FINISHED"
    assert "k1=red, k2=blue" in last["calls"].said
    assert "green" in last["leaves_calls"].said
    assert last["breaks"].seen["runErrors"][0]["code"] == "MINE"
    assert last["states"].state["n"] == 2**53 - 1
