"""Runs over HTTP: start one, follow one, stop one, leave one."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote
from uuid import uuid4

import httpx
import pytest

from gateway.encode.protobuf.decoder import FrameDecoder
from gateway.encode.protobuf.encoder import CONTENT_TYPE as PROTOBUF
from tests.support.gateway import Gateway, events_of, numbers_of, run_input, text_of, types_of
from tests.web.event_order import well_ordered
from tests.web.problem import problem_in
from tests.web.raw import Connection, request, run_request

PROMPTS = ["hello", "think", "tools", "state", "plan", "subagent", "image", "custom", "error", "crash", "everything"]
ODD_IDS = ["a/b", "a/events", "x/cancel", "a b?c#d&e", "ünï/cödé", "100%", "a\\b", '"', "events"]


def new_id() -> str:
    return uuid4().hex


def attach(gateway: Gateway, run: str, after: object = None, **headers: str) -> httpx.Response:
    params = {} if after is None else {"after": str(after)}
    return gateway.client.get(f"/runs/{quote(run, safe='')}/events", params=params, headers=headers)


def outcome(events: list[dict[str, Any]]) -> Any:
    assert events[-1]["type"] == "RUN_FINISHED", events[-1]
    return events[-1].get("outcome", {}).get("type")


# -- starting


@pytest.mark.parametrize("prompt", PROMPTS)
def test_a_run_is_a_stream_that_every_client_accepts(gateway: Gateway, prompt: str) -> None:
    body = run_input(prompt)
    response = gateway.post("demo", body)
    assert response.status_code == 200
    events = events_of(response.text)
    assert well_ordered(events)
    assert (events[0]["threadId"], events[0]["runId"]) == (body["threadId"], body["runId"])
    assert numbers_of(response.text) == list(range(1, len(events) + 1))


def test_a_stream_is_marked_as_one_that_no_client_may_hold_back(gateway: Gateway) -> None:
    headers = gateway.post("echo", run_input()).headers
    assert headers["content-type"] == "text/event-stream"
    assert headers["cache-control"] == "no-cache"
    assert headers["x-accel-buffering"] == "no"


def test_events_come_as_they_happen(gateway: Gateway) -> None:
    with gateway.stream("demo", "slow 600") as events:
        came = [next(events) for _ in range(5)]
    assert types_of(came)[:2] == ["RUN_STARTED", "TEXT_MESSAGE_START"]
    assert text_of(came) == "Slow and steady: "


def test_a_silent_stream_says_that_it_is_alive(small: Gateway) -> None:
    response = small.post("demo", run_input("slow 3"))
    assert ": keep-alive\n\n" in response.text
    assert well_ordered(events_of(response.text))


@pytest.mark.parametrize("accept", [None, "", "*/*", "text/event-stream", "application/json", f"{PROTOBUF};q=0"])
def test_a_client_that_does_not_name_protobuf_gets_text(gateway: Gateway, accept: str | None) -> None:
    headers = {} if accept is None else {"accept": accept}
    response = gateway.post("echo", run_input("hello"), **headers)
    assert response.headers["content-type"] == "text/event-stream"
    assert text_of(events_of(response.text)) == "hello "


@pytest.mark.parametrize("accept", [PROTOBUF, f"text/event-stream, {PROTOBUF};q=0.5", PROTOBUF.upper()])
def test_a_client_that_names_it_gets_the_same_events_in_protobuf(gateway: Gateway, accept: str) -> None:
    run = new_id()
    response = gateway.post("demo", run_input("tools", runId=run), accept=accept)
    assert response.headers["content-type"] == PROTOBUF
    events = FrameDecoder().feed(response.content)
    assert well_ordered(events)
    assert events == events_of(attach(gateway, run).text)


def test_a_client_from_before_1_0_gets_text_whatever_it_names(gateway: Gateway) -> None:
    response = gateway.post("echo", run_input(protocolVersion=...), accept=PROTOBUF)
    assert response.headers["content-type"] == "text/event-stream"


def test_the_thread_is_free_the_moment_its_run_ends(gateway: Gateway) -> None:
    thread = new_id()
    assert [text_of(gateway.run("echo", str(turn), threadId=thread)) for turn in range(20)] == [
        f"{turn} " for turn in range(20)
    ]


def test_an_id_that_is_live_cannot_be_taken_by_another_thread(gateway: Gateway) -> None:
    run = new_id()
    with gateway.stream("demo", "slow 600", runId=run) as events:
        next(events)
        assert problem_in(gateway.post("echo", run_input(runId=run)), 409, "RUN_ID_IN_USE")["runId"] == run


# -- following


@pytest.mark.parametrize("version", ["1.0", ...], ids=["1.0", "before 1.0"])
@pytest.mark.parametrize("prompt", PROMPTS)
def test_a_replay_is_the_live_stream_byte_for_byte(gateway: Gateway, prompt: str, version: object) -> None:
    run = new_id()
    live = gateway.post("demo", run_input(prompt, runId=run, protocolVersion=version))
    again = attach(gateway, run)
    assert again.status_code == 200
    assert again.headers["content-type"] == live.headers["content-type"]
    assert again.content == live.content


def test_a_replay_in_protobuf_is_too(gateway: Gateway) -> None:
    run = new_id()
    live = gateway.post("demo", run_input("everything", runId=run), accept=PROTOBUF)
    assert attach(gateway, run, accept=PROTOBUF).content == live.content


def test_a_client_that_comes_back_gets_what_is_missing_and_no_more(gateway: Gateway) -> None:
    run = new_id()
    live = gateway.post("demo", run_input("tools", runId=run)).content
    frames = [frame + b"\n\n" for frame in live.split(b"\n\n")[:-1]]
    for seen in range(len(frames) + 3):
        rest = b"".join(frames[seen:])
        assert attach(gateway, run, seen).content == rest
        assert attach(gateway, run, **{"last-event-id": str(seen)}).content == rest


def test_a_run_is_followed_while_it_is_live_by_as_many_as_like(gateway: Gateway) -> None:
    run = new_id()
    with Connection(gateway) as first, Connection(gateway) as second, Connection(gateway) as third:
        first.send(run_request("demo", run_input("slow 5", runId=run), ["Connection: close"])).until(b"RUN_STARTED")
        second.send(request(f"/runs/{run}/events", headers=["Connection: close"]))
        third.send(request(f"/runs/{run}/events?after=3", headers=["Connection: close"]))
        followed, rest = second.answer(), third.answer()
    whole = attach(gateway, run).content
    assert followed.content == whole
    assert whole.endswith(rest.content) and numbers_of(rest.text)[0] == 4


def test_one_protocol_s_run_may_be_read_in_the_other(gateway: Gateway) -> None:
    run = new_id()
    gateway.post("demo", run_input("image", runId=run))
    older = gateway.client.get(f"/runs/{run}/events", params={"protocol": "0"}).text
    newer = attach(gateway, run).text
    assert well_ordered(events_of(older))
    assert [type(event["content"]) for event in events_of(older) if "content" in event] == [str]
    assert [type(event["content"]) for event in events_of(newer) if "content" in event] == [list]


@pytest.mark.parametrize("after", ["-1", "x", "1.5", "", "²", "1" * 16, " "])
def test_a_place_that_is_no_number_is_refused(gateway: Gateway, after: str) -> None:
    run = new_id()
    gateway.post("echo", run_input(runId=run))
    assert problem_in(attach(gateway, run, after), 422, "INVALID_INPUT")["pointer"] == "?after"


def test_a_header_that_is_no_number_is_refused_by_its_own_name(gateway: Gateway) -> None:
    problem = problem_in(attach(gateway, "any", **{"last-event-id": "soon"}), 422, "INVALID_INPUT")
    assert "Last-Event-ID" in problem["detail"] and "'soon'" in problem["detail"]


@pytest.mark.parametrize("run", ODD_IDS)
def test_a_run_is_found_whatever_its_id(gateway: Gateway, run: str) -> None:
    live = gateway.post("echo", run_input(runId=run))
    assert attach(gateway, run).content == live.content
    stopped = gateway.client.post(f"/runs/{quote(run, safe='')}/cancel")
    assert stopped.json() == {"runId": run, "status": "over"}


def test_a_run_that_never_was_cannot_be_followed(gateway: Gateway) -> None:
    problem_in(attach(gateway, "never-was"), 404, "UNKNOWN_RUN")


def test_of_two_runs_with_one_id_the_newer_is_followed(gateway: Gateway) -> None:
    run = new_id()
    gateway.run("echo", "older", runId=run)
    gateway.run("echo", "newer", runId=run)
    assert text_of(events_of(attach(gateway, run).text)) == "newer "


# -- stopping


def test_a_cancelled_run_ends_as_cancelled_with_everything_closed(gateway: Gateway) -> None:
    run = new_id()
    with gateway.stream("demo", "slow 600", runId=run) as events:
        came = [next(events) for _ in range(3)]
        stopped = gateway.client.post(f"/runs/{run}/cancel")
        came += list(events)
    assert (stopped.status_code, stopped.json()) == (202, {"runId": run, "status": "cancelling"})
    assert well_ordered(came)
    assert types_of(came)[-2:] == ["TEXT_MESSAGE_END", "RUN_FINISHED"]
    assert outcome(came) == "cancelled"


def test_a_run_that_is_over_cannot_be_cancelled_and_that_is_no_error(gateway: Gateway) -> None:
    run = new_id()
    gateway.run("echo", runId=run)
    stopped = gateway.client.post(f"/runs/{run}/cancel")
    assert (stopped.status_code, stopped.json()["status"]) == (200, "over")


def test_a_run_that_waits_for_an_answer_can_be_given_up(gateway: Gateway) -> None:
    run, thread = new_id(), new_id()
    assert outcome(gateway.run("demo", "approve", runId=run, threadId=thread)) == "interrupt"
    stopped = gateway.client.post(f"/runs/{run}/cancel")
    assert (stopped.status_code, stopped.json()["status"]) == (200, "cancelled")
    assert outcome(gateway.run("demo", "hello", threadId=thread)) != "interrupt"


def test_a_run_that_never_was_cannot_be_cancelled(gateway: Gateway) -> None:
    problem_in(gateway.client.post("/runs/never-was/cancel"), 404, "UNKNOWN_RUN")


# -- leaving


def leave(gateway: Gateway, run: str, prompt: str, **options: str) -> list[dict[str, Any]]:
    """A run whose client closes the connection after three events; what the run did then, to its end."""
    with gateway.stream("demo", prompt, runId=run, forwardedProps={"gateway": options}) as events:
        for _ in range(3):
            next(events)
    return events_of(attach(gateway, run).text)


@pytest.mark.parametrize("options", [{}, {"onDisconnect": "cancel"}], ids=["by default", "if asked to"])
def test_closing_the_connection_stops_the_run(gateway: Gateway, options: dict[str, str]) -> None:
    events = leave(gateway, new_id(), "slow 600", **options)
    assert well_ordered(events)
    assert outcome(events) == "cancelled"


def test_a_run_may_be_asked_to_go_on_without_its_client(gateway: Gateway) -> None:
    events = leave(gateway, new_id(), "slow 4", onDisconnect="continue")
    assert well_ordered(events)
    assert (outcome(events), text_of(events)) == (None, "Slow and steady: stop ")


def test_a_client_that_only_watches_may_leave_without_harm(gateway: Gateway) -> None:
    run = new_id()
    with gateway.stream("demo", "slow 4", runId=run) as events:
        next(events)
        with Connection(gateway) as watcher:
            watcher.send(request(f"/runs/{run}/events")).until(b"RUN_STARTED")
        rest = list(events)
    assert outcome(rest) is None and rest[-1]["type"] == "RUN_FINISHED"


def test_another_value_is_refused(gateway: Gateway) -> None:
    body = run_input(forwardedProps={"gateway": {"onDisconnect": "shrug"}})
    problem = problem_in(gateway.post("echo", body), 422, "INVALID_INPUT")
    assert problem["pointer"] == "/forwardedProps/gateway/onDisconnect"
