"""Threads by their ids: a client chooses them, so an address must take any."""

from __future__ import annotations

from urllib.parse import quote
from uuid import uuid4

import pytest

from tests.support.gateway import Gateway
from tests.web.problem import problem_in


@pytest.mark.parametrize("thread", ["plain", "a/b", "a/close", "fork", "ünï cödé?#&", "100%", "https://x.example/y?z"])
def test_a_thread_is_found_whatever_its_id(gateway: Gateway, thread: str) -> None:
    thread = f"{thread}-{uuid4().hex}"
    own = f"/agents/echo/threads/{quote(thread, safe='')}"
    gateway.run("echo", "hello", threadId=thread)
    assert [message["content"] for message in gateway.client.get(own).json()["messages"]] == ["hello", "hello "]
    assert gateway.client.post(f"{own}/close").status_code == 200
    assert gateway.client.delete(own).status_code == 204
    problem_in(gateway.client.get(own), 404, "UNKNOWN_THREAD")


def test_a_thread_is_listed_with_the_first_message_of_it(gateway: Gateway) -> None:
    gateway.run("echo", "  What is\n the matter? ", threadId="titled")
    gateway.run("echo", "and now", threadId="titled")
    gateway.run("echo", "x" * 500, threadId="long-titled")
    listed = {one["threadId"]: one for one in gateway.client.get("/agents/echo/threads").json()["threads"]}
    assert listed["titled"]["title"] == "What is the matter?"
    assert listed["long-titled"]["title"] == "x" * 79 + "…"
