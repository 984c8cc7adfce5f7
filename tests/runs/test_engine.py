"""Runs of a real gateway: one at a time on a thread, many at once on all, stopped, left, and joined again."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from gateway.events import Wire
from tests.agui.replay import accepted
from tests.runs.harness import attach, attached, cancel, new_ids, played, staged, streaming, until
from tests.support.gateway import Gateway, events_of, numbers_of, run_input, text_of, types_of


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with staged(tmp_path_factory.mktemp("scenes"), "scenes", cancel_grace=2) as running:
        yield running


def counted(n: int) -> str:
    return "".join(f"{number} " for number in range(n))


def deltas(events: list[Wire]) -> int:
    return types_of(events).count("TEXT_MESSAGE_CONTENT")


# -- one at a time


def test_a_thread_with_a_live_run_takes_no_other(scenes: Gateway, tmp_path: Path) -> None:
    ids, gate = new_ids(), tmp_path / "gate"
    with streaming(scenes, "waits", **ids, forwardedProps={"file": str(gate)}) as (run_id, events):
        begun = until(events, "TEXT_MESSAGE_CONTENT")
        refused = scenes.post("waits", run_input(threadId=ids["threadId"]))
        assert (refused.status_code, refused.json()["code"]) == (409, "RUN_IN_PROGRESS")
        assert refused.json()["runId"] == run_id
        assert f"POST /runs/{run_id}/cancel" in refused.json()["detail"]
        gate.touch()
        assert text_of(accepted([*begun, *events])) == "begun done"
    again = played(scenes, "waits", threadId=ids["threadId"], forwardedProps={"file": str(gate)})
    assert text_of(again) == "begun done"


def test_the_same_thread_of_another_agent_is_another_thread(scenes: Gateway, tmp_path: Path) -> None:
    ids = new_ids()
    with streaming(scenes, "talks", **ids) as (_, events):
        until(events, "TEXT_MESSAGE_CONTENT")
        assert text_of(played(scenes, "counts", threadId=ids["threadId"], forwardedProps={"n": 3})) == counted(3)


# -- many at once


@pytest.mark.parametrize("agent", ["counts", "counts-in-a-thread"])
def test_fifty_runs_at_once_each_get_their_own(scenes: Gateway, agent: str) -> None:
    def one(number: int) -> tuple[int, str]:
        n = 100 + number
        return n, text_of(played(scenes, agent, forwardedProps={"n": n}))

    with ThreadPoolExecutor(50) as pool:
        found = list(pool.map(one, range(50)))
    assert all(text == counted(n) for n, text in found)


def test_many_readers_of_one_run_see_the_same(scenes: Gateway, tmp_path: Path) -> None:
    ids, gate = new_ids(), tmp_path / "gate"
    with ThreadPoolExecutor(10) as pool:
        with streaming(scenes, "waits", **ids, forwardedProps={"file": str(gate)}) as (run_id, events):
            until(events, "TEXT_MESSAGE_CONTENT")
            readers = [pool.submit(attach, scenes, run_id) for _ in range(10)]
            gate.touch()
            until(events, "RUN_FINISHED")
        bodies = {reader.result().content for reader in readers}
    assert len(bodies) == 1
    assert text_of(events_of(bodies.pop().decode())) == "begun done"


# -- stopping and leaving


def test_a_cancelled_run_ends_as_cancelled(scenes: Gateway) -> None:
    with streaming(scenes, "talks") as (run_id, events):
        begun = until(events, "TEXT_MESSAGE_CONTENT")
        assert cancel(scenes, run_id) == "cancelling"
        stream = accepted([*begun, *events])
    assert stream[-1]["outcome"] == {"type": "cancelled"}
    assert cancel(scenes, run_id) == "over"


def test_a_client_that_leaves_stops_its_run(scenes: Gateway) -> None:
    with streaming(scenes, "talks") as (run_id, events):
        until(events, "TEXT_MESSAGE_CONTENT")
    assert attached(scenes, run_id)[-1]["outcome"] == {"type": "cancelled"}


def test_the_next_run_may_follow_a_client_that_left_at_once(scenes: Gateway) -> None:
    ids = new_ids()
    with streaming(scenes, "talks", **ids) as (_, events):
        until(events, "TEXT_MESSAGE_CONTENT")
    with streaming(scenes, "talks", threadId=ids["threadId"]) as (_, events):
        until(events, "TEXT_MESSAGE_CONTENT")


def test_a_run_that_goes_on_without_its_client_can_be_joined_again_without_loss(
    scenes: Gateway, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    options = {"file": str(gate), "gateway": {"onDisconnect": "continue"}}
    with streaming(scenes, "waits", forwardedProps=options) as (run_id, events):
        seen = until(events, "TEXT_MESSAGE_CONTENT")
    gate.touch()
    rest = attach(scenes, run_id, after=len(seen))
    assert numbers_of(rest.text)[0] == len(seen) + 1
    stream = accepted([*seen, *events_of(rest.text)])
    assert text_of(stream) == "begun done"
    assert events_of(attach(scenes, run_id).text) == stream


def test_a_client_that_only_watches_leaves_without_stopping_the_run(scenes: Gateway, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    with streaming(scenes, "waits", forwardedProps={"file": str(gate)}) as (run_id, events):
        begun = until(events, "TEXT_MESSAGE_CONTENT")
        with scenes.client.stream("GET", f"/runs/{run_id}/events") as watching:
            next(watching.iter_lines())
        gate.touch()
        assert text_of(accepted([*begun, *events])) == "begun done"


# -- how events arrive


def test_official_objects_and_chunks_arrive_as_whole_messages(scenes: Gateway) -> None:
    events = played(scenes, "speaks-ag-ui")
    assert text_of(events) == "ab"
    assert "".join(event["delta"] for event in events if event["type"] == "TOOL_CALL_ARGS") == "{}"
    assert not [event for event in events if event["type"].endswith("_CHUNK")]


@pytest.mark.parametrize("agent", ["counts", "counts-in-a-thread"])
def test_without_merging_every_delta_is_an_event(scenes: Gateway, agent: str) -> None:
    events = played(scenes, agent, forwardedProps={"n": 300, "gateway": {"merge": False}})
    assert deltas(events) == 300
    assert text_of(events) == counted(300)


def test_deltas_that_arrive_together_are_one_event(scenes: Gateway) -> None:
    options = {"n": 1000, "size": 10}
    assert deltas(played(scenes, "floods", forwardedProps=options)) < 100
    assert deltas(played(scenes, "floods", forwardedProps=options | {"gateway": {"merge": False}})) == 1000


def test_a_merge_window_waits_for_more_to_join(scenes: Gateway) -> None:
    def options(merge: Any) -> dict[str, Any]:
        return {"forwardedProps": {"gateway": {"merge": merge}}}

    at_once = played(scenes, "trickles", **options(True))
    joined = played(scenes, "trickles", **options({"windowMs": 1000}))
    assert text_of(joined) == text_of(at_once) == counted(20)
    assert deltas(joined) < deltas(at_once)


def test_what_was_said_before_an_error_leaves_before_it_though_a_window_is_open(scenes: Gateway) -> None:
    options = {"gateway": {"merge": {"windowMs": 1000}}}
    events = played(scenes, "trickles-and-breaks", forwardedProps=options)
    assert text_of(events) == "said before it broke"
    assert events[-1]["message"] == "ValueError: broken"


# -- the store


def test_a_run_whose_log_grows_too_large_fails(tmp_path: Path) -> None:
    with staged(tmp_path, "scenes", max_run_log_bytes=100_000) as gateway:
        events = played(gateway, "floods", forwardedProps={"n": 1000, "size": 1000})
        assert events[-1]["code"] == "RUN_TOO_LARGE"
        assert text_of(events)[:8] == "00000000", "what it said before is kept"
        assert text_of(played(gateway, "counts", forwardedProps={"n": 5})) == counted(5)
