"""Gateways mounted in each other whole: each has every agent once by every way that does not come back, and no more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.behaviour.remote.test_mount import ids, mount
from tests.runs.harness import eventually
from tests.support.gateway import Gateway, run_input, text_of
from tests.web.problem import problem_in

SOON = "refresh = 1"
ALL = 'agents = "*"'
MARK = {"driver": "acp", "command": {"run": ["nowhere"]}, "identity": {"name": "Mark"}}


@contextmanager
def gateways(home: Path, names: Sequence[str]) -> Iterator[list[Gateway]]:
    """One for each name. What it is to mount is written into its folder while it runs."""
    with ExitStack() as stack:
        made: list[Gateway] = []
        for name in names:
            folder(home, name).mkdir(parents=True)
            made.append(stack.enter_context(Gateway(home / name, "--agents", str(folder(home, name)))))
        yield made


def folder(home: Path, name: str) -> Path:
    return home / f"{name}-agents"


def under(prefix: str, names: set[str]) -> set[str]:
    return {f"{prefix}.{name}" for name in names}


def test_two_that_have_mounted_each_other_whole_have_each_other_s_own_and_no_more(tmp_path: Path) -> None:
    with gateways(tmp_path, ("a", "b")) as (a, b):
        own = ids(a)
        mount(folder(tmp_path, "a"), "to-b", b.url, ALL, SOON)
        mount(folder(tmp_path, "b"), "to-a", a.url, ALL, SOON)
        eventually(lambda: ids(a) == own | under("to-b", own), 60)
        eventually(lambda: ids(b) == own | under("to-a", own), 60)
        # A new agent travels with the list of all that is mounted: so each has seen the other's whole list since.
        assert a.client.put("/agents/mark", json=MARK).status_code == 201
        eventually(lambda: "to-a.mark" in ids(b), 60)
        assert b.client.put("/agents/mark", json=MARK).status_code == 201
        eventually(lambda: "to-b.mark" in ids(a), 60)
        assert ids(a) == {"mark", "to-b.mark"} | own | under("to-b", own)
        assert text_of(a.run("to-b.echo", "there")) == text_of(b.run("to-a.echo", "there")) == "there "


def test_through_a_chain_an_agent_has_the_prefixes_of_its_way(tmp_path: Path) -> None:
    with gateways(tmp_path, ("a", "b", "c")) as (a, b, c):
        mount(folder(tmp_path, "b"), "c", c.url, 'agents = ["echo", "demo"]', SOON)
        mount(folder(tmp_path, "a"), "b", b.url, 'agents = ["c.echo", "c.demo"]', SOON)
        eventually(lambda: {"b.c.echo", "b.c.demo"} <= ids(a), 60)
        assert text_of(a.run("b.c.echo", "all the way")) == "all the way "
        way = [gateway.client.get("/agents").json()["gateway"] for gateway in (b, c)]
        assert a.client.get("/agents/b.c.echo").json()["via"] == way
        first_run = a.run("b.c.demo", "approve", threadId="far-away")
        [interrupt] = first_run[-1]["outcome"]["interrupts"]
        answer = [{"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": True}}]
        body = {**run_input(threadId="far-away"), "messages": [], "resume": answer}
        assert '"outcome"' not in a.post("b.c.demo", body).text.splitlines()[-2]
        c.kill()
        last = a.run("b.c.echo")[-1]
        assert (last["type"], last["code"]) == ("RUN_ERROR", "AGENT_UNREACHABLE"), "as b reports it"


def test_a_circle_of_three_ends(tmp_path: Path) -> None:
    with gateways(tmp_path, ("a", "b", "c")) as (a, b, c):
        own = ids(a)
        for name, other, there in (("a", "b", b), ("b", "c", c), ("c", "a", a)):
            mount(folder(tmp_path, name), other, there.url, ALL, SOON)
        around = {"a": ("b", "c"), "b": ("c", "a"), "c": ("a", "b")}

        def whole(name: str, names: set[str]) -> set[str]:
            first, second = around[name]
            return names | under(first, names | under(second, names))

        for name, gateway in (("a", a), ("b", b), ("c", c)):
            eventually(lambda gateway=gateway, name=name: ids(gateway) == whole(name, own), 60)  # type: ignore[misc]
        for gateway in (a, b, c):
            gateway.client.put("/agents/mark", json=MARK)
        for name, gateway in (("a", a), ("b", b), ("c", c)):
            names = own | {"mark"}
            eventually(lambda gateway=gateway, name=name, names=names: ids(gateway) == whole(name, names), 60)  # type: ignore[misc]
        assert text_of(a.run("b.c.echo", "two on")) == "two on "
        once_around = ", ".join(gateway.client.get("/agents").json()["gateway"] for gateway in (a, b, c))
        problem_in(a.post("b.echo", run_input(), **{"agui-gateway-hops": once_around}), 409, "GATEWAY_LOOP")
