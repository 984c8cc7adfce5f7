"""What a thread says of itself: its runs, and whether anybody has to do something."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from tests.support.gateway import Gateway, events_of, run_input


def named() -> str:
    return f"thread-{uuid4().hex[:8]}"


def shown(gateway: Gateway, thread: str, agent: str = "demo") -> dict[str, Any]:
    found: dict[str, Any] = gateway.client.get(f"/agents/{agent}/threads/{thread}").json()
    return found


def listed(gateway: Gateway, thread: str) -> dict[str, Any]:
    threads: list[dict[str, Any]] = gateway.client.get("/agents/demo/threads").json()["threads"]
    return next(one for one in threads if one["threadId"] == thread)


def test_a_thread_names_its_runs_oldest_first_with_how_they_ended(gateway: Gateway) -> None:
    thread, messages = named(), []
    for number, words in enumerate(("hello", "error", "approve")):
        messages.append({"id": f"m{number}", "role": "user", "content": words})
        gateway.post("demo", run_input(threadId=thread, runId=f"{thread}-{number}", messages=messages))
    runs = shown(gateway, thread)["runs"]
    assert [run["runId"] for run in runs] == [f"{thread}-{number}" for number in range(3)]
    assert [run["status"] for run in runs] == ["finished", "failed", "interrupted"]
    assert [run["messageId"] for run in runs] == ["m0", "m1", "m2"]
    for run in runs:
        assert len(events_of(gateway.client.get(f"/runs/{run['runId']}/events?after=0").text)) == run["events"]


def test_a_run_whose_name_was_taken_by_another_is_left_out(gateway: Gateway) -> None:
    thread, run = named(), f"run-{uuid4().hex}"
    gateway.run("demo", "error", threadId=thread, runId=run)
    gateway.run("demo", "hello", threadId=thread, runId=f"{run}-2")
    gateway.run("demo", "hello", threadId=thread, runId=run)
    runs = shown(gateway, thread)["runs"]
    assert [(one["runId"], one["status"]) for one in runs] == [(f"{run}-2", "finished"), (run, "finished")]


def test_only_the_newest_runs_are_named(gateway: Gateway) -> None:
    thread = named()
    for number in range(22):
        gateway.run("echo", threadId=thread, runId=f"{thread}-{number}")
    runs = [run["runId"] for run in shown(gateway, thread, "echo")["runs"]]
    assert runs == [f"{thread}-{number}" for number in range(2, 22)]


def test_a_thread_that_runs_differs_from_one_that_waits_for_an_answer(gateway: Gateway) -> None:
    thread = named()
    with gateway.stream("demo", "slow 50", threadId=thread) as events:
        next(events)
        assert listed(gateway, thread)["status"] == "running"
        assert shown(gateway, thread)["runs"] == []  # `runId` says which
    gateway.run("demo", "approve", threadId=(waiting := named()))
    assert listed(gateway, waiting)["status"] == "blocked"
    assert listed(gateway, waiting)["pendingRunId"] is not None
    gateway.run("demo", "hello", threadId=(quiet := named()))
    assert listed(gateway, quiet)["status"] == "idle"
