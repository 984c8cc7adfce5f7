"""The capability feed over HTTP: what a page receives, when, and what it costs the others."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from tests.behaviour.acp.harness import Stage, Talk
from tests.runs.harness import eventually
from tests.support.gateway import Gateway
from tests.web.agent_folder import write_agent
from tests.web.feed_reader import SSE, watching
from tests.web.feed_reader import until as seen
from tests.web.problem import problem_in
from tests.web.raw import Connection

WITHIN = 0.25
"""Seconds until a change is to be seen: what the gateway promises."""
BUSY = 8
"""A machine that runs all tests at once is slower so many times at most."""

LIVE = """
import json
from pathlib import Path

HERE = Path(__file__).parent

async def agent(turn):
    (HERE / "words.json").write_text('{"custom": {"word": "said in a run"}}')
    yield "yes"

def words():
    with (HERE / "asked").open("a") as asked:
        asked.write(".")
    return json.loads((HERE / "words.json").read_text())
"""
SLOWLY_NO = ["/bin/sh", "-c", "sleep 3; exit 1"]
AVAILABLE = "custom.gateway.availability.status"
MODE = "custom.session.modes.current"


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    home = tmp_path_factory.mktemp("feed")
    stage = Stage(home, keep_alive=0.2)
    signs = [{"kind": "file", "name": str(home / "signed-in")}, {"kind": "command", "run": SLOWLY_NO, "timeout": 20}]
    models = [{"id": "large", "thinking": True}, {"id": "small", "aliases": ["tiny"], "thinking": False}]
    stage.agent("full", "--full")
    stage.agent("signing", auth=signs)
    stage.agent("modelled", "--full", models=models)
    write_agent(stage.agents, "live", LIVE, more='capabilities_entry = "live:words"')
    (stage.agents / "words.json").write_text("{}")
    with stage:
        yield stage


def say(stage: Stage, text: str) -> None:
    """What the agent `live` says of itself from now on; at once, so that it is never half a file."""
    new = stage.agents / "new.json"
    new.write_text(json.dumps({"custom": {"word": text}}))
    new.replace(stage.agents / "words.json")


def soon(change: Callable[[int], Any], wait: Callable[[int], Any], times: int = 3) -> None:
    """Seen within what is promised, at least once in a few tries: the machine may be busy."""
    took = []
    for number in range(times):
        change(number)
        began = time.monotonic()
        wait(number)
        took.append(time.monotonic() - began)
    assert min(took) < WITHIN * BUSY


# -- what is sent


def test_the_first_event_is_what_the_route_answers(stage: Stage) -> None:
    with watching(stage, "/agents/echo/capabilities") as feed:
        first = next(feed)
        answer = stage.client.get("/agents/echo/capabilities")
    assert (first.name, first.snapshot) == ("snapshot", answer.json())
    assert f'"{first.data["version"]}"' == answer.headers["etag"]


def test_every_change_comes_whole_and_as_a_patch(stage: Stage) -> None:
    say(stage, "one")
    with watching(stage, "/agents/live/capabilities") as feed:
        before = seen(feed, "custom.word", "one")
        for text in ("two", "three"):
            say(stage, text)
            after = next(feed)
            assert after.follows(before) and after.snapshot["custom"]["word"] == text
            before = after
    tag = stage.client.get("/agents/live/capabilities").headers["etag"]
    assert tag == f'"{before.data["version"]}"'


def test_what_an_agent_says_of_itself_is_seen_soon(stage: Stage) -> None:
    with watching(stage, "/agents/live/capabilities") as feed:
        soon(lambda number: say(stage, f"soon {number}"), lambda number: seen(feed, "custom.word", f"soon {number}"))


def test_a_run_that_changes_it_is_seen_by_those_who_watch(stage: Stage) -> None:
    say(stage, "before the run")
    with watching(stage, "/agents/live/capabilities") as feed:
        seen(feed, "custom.word", "before the run")
        stage.run("live")
        assert next(feed).snapshot["custom"]["word"] == "said in a run"


def test_a_sign_in_is_seen_soon_though_a_command_is_still_being_asked(stage: Stage) -> None:
    sign = stage.agents.parent / "signed-in"
    with watching(stage, "/agents/signing/capabilities") as feed:
        next(feed)  # no client waits for the command
        soon(lambda _: sign.touch(), lambda _: seen(feed, AVAILABLE, "ready"), times=1)
        ready = seen(feed, "custom.acp.loadSession", True)  # and now it was asked itself
    assert ready.snapshot["identity"]["version"] == "1.2.3"
    sign.unlink()


def test_a_mode_that_is_set_is_seen_soon_on_its_thread_and_on_no_other(stage: Stage) -> None:
    mine, other = Talk(stage, "full"), Talk(stage, "full")
    mine.say("hello")
    other.say("hello")
    paths = [f"/agents/full/capabilities?thread={talk.id}" for talk in (mine, other)]
    modes = ("auto", "ask", "auto")
    with watching(stage, paths[0]) as feed, watching(stage, paths[1]) as beside:
        first = next(beside)
        soon(
            lambda number: stage.asks(f"{mine.path}/mode", {"mode": modes[number]}),
            lambda number: seen(feed, MODE, modes[number]),
        )
        stage.asks(f"{other.path}/model", {"model": "large"})
        change = next(beside)
    assert change.follows(first)
    session = change.snapshot["custom"]["session"]
    assert (session["modes"]["current"], session["models"]["current"]) == ("ask", "large")


def test_a_thread_is_watched_before_it_has_a_session_and_after(stage: Stage) -> None:
    talk = Talk(stage, "full")
    with watching(stage, f"/agents/full/capabilities?thread={talk.id}") as feed:
        assert "session" not in next(feed).snapshot["custom"]
        talk.say("hello")
        seen(feed, MODE, "ask")
        stage.asks(f"{talk.path}/close", {})
        seen(feed, "custom.session.open", False)


def test_each_view_has_its_own_feed(stage: Stage) -> None:
    for view in ("acp", "mux"):
        path = f"/agents/full/capabilities?probe=1&view={view}"
        with watching(stage, path) as feed:
            assert next(feed).snapshot == stage.asks(path)
    with watching(stage, "/agents/demo/capabilities?protocol=0") as feed:
        assert "subAgents" in next(feed).snapshot["multiAgent"]


def test_a_client_that_asks_is_answered_who_said_so(stage: Stage) -> None:
    talk = Talk(stage, "full")
    talk.say("hello")
    path = f"/agents/full/capabilities?explain=1&thread={talk.id}"
    with watching(stage, path) as feed:
        first = next(feed)
        assert first.data == stage.asks(path)
        stage.asks(f"{talk.path}/mode", {"mode": "auto"})
        change = seen(feed, MODE, "auto")
    assert change.follows(first)
    assert change.data.keys() == {"version", "patch", "capabilities", "explain"}
    assert (change.data["explain"][MODE]["layer"], change.data["explain"][MODE]["value"]) == ("session", "auto")


def test_only_agui_s_own_is_explained(stage: Stage) -> None:
    with watching(stage, "/agents/full/capabilities?explain=1&view=mux") as feed:
        assert next(feed).data.keys() == {"version", "capabilities"}


def test_a_model_s_own_limits_are_in_the_feed_of_that_model(stage: Stage) -> None:
    for name, thinks in (("large", True), ("tiny", False)):
        with watching(stage, f"/agents/modelled/capabilities?model={name}") as feed:
            assert next(feed).snapshot["reasoning"]["supported"] is thinks


def test_a_model_that_is_set_on_a_thread_brings_its_limits_along(stage: Stage) -> None:
    talk = Talk(stage, "modelled")
    talk.say("hello")
    with watching(stage, f"/agents/modelled/capabilities?thread={talk.id}") as feed:
        assert next(feed).snapshot["custom"]["model"] == {"id": "small"}
        stage.asks(f"{talk.path}/model", {"model": "large"})
        large = seen(feed, "custom.session.models.current", "large")
    assert (large.snapshot["custom"]["model"]["id"], large.snapshot["reasoning"]["supported"]) == ("large", True)


# -- agents that come, change and go


def test_an_edit_of_its_file_is_seen_soon_and_its_removal_is_the_end(stage: Stage) -> None:
    names = ("Second", "Third", "Fourth")
    write_agent(stage.agents, "guest", LIVE, name="First")
    eventually(lambda: stage.client.get("/agents/guest").status_code == 200)
    with watching(stage, "/agents/guest/capabilities") as feed:
        assert next(feed).snapshot["identity"]["name"] == "First"
        soon(
            lambda number: write_agent(stage.agents, "guest", LIVE, name=names[number]),
            lambda number: seen(feed, "identity.name", names[number]),
        )
        (stage.agents / "guest.toml").unlink()
        last = list(feed)[-1]
    assert (last.name, last.data["status"], last.data["code"]) == ("removed", 404, "UNKNOWN_AGENT")
    problem_in(stage.client.get("/agents/guest/capabilities", headers=SSE), 404, "UNKNOWN_AGENT")


def test_an_agent_that_is_registered_again_is_the_same_feed(stage: Stage) -> None:
    def register(name: str) -> None:
        body = {"driver": "acp", "identity": {"name": name}, "command": {"run": ["nowhere-to-be-found"]}}
        assert stage.client.put("/agents/registered", json=body).status_code in (200, 201)

    register("One")
    with watching(stage, "/agents/registered/capabilities") as feed:
        seen(feed, AVAILABLE, "not-installed")
        register("Two")
        two = seen(feed, "identity.name", "Two")
        assert seen(feed, AVAILABLE, "not-installed") if "custom" not in two.snapshot else two
        assert stage.client.delete("/agents/registered").status_code == 204
        assert [heard.name for heard in feed][-1:] == ["removed"]


# -- coming back


def test_a_client_that_comes_back_is_answered_what_has_changed(stage: Stage) -> None:
    say(stage, "left")
    with watching(stage, "/agents/live/capabilities") as feed:
        left = seen(feed, "custom.word", "left")
    say(stage, "back")
    with watching(stage, "/agents/live/capabilities", **{"last-event-id": str(left.number)}) as feed:
        back = next(feed)
    assert back.follows(left) and back.snapshot["custom"]["word"] == "back"


def test_a_client_that_missed_nothing_is_answered_nothing_until_something_happens(stage: Stage) -> None:
    say(stage, "calm")
    with watching(stage, "/agents/live/capabilities") as feed:
        calm = seen(feed, "custom.word", "calm")
    with watching(stage, "/agents/live/capabilities", **{"last-event-id": str(calm.number)}) as feed:
        say(stage, "storm")
        assert next(feed).follows(calm)


@pytest.mark.parametrize("number", ["1", "99999999999999", "-1", "one", "1" * 40])
def test_a_number_that_is_unknown_brings_a_snapshot(stage: Stage, number: str) -> None:
    with watching(stage, "/agents/echo/capabilities", **{"last-event-id": number}) as feed:
        assert next(feed).name == "snapshot"


# -- the request


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("text/event-stream", "text/event-stream"),
        ("text/event-stream, */*;q=0.1", "text/event-stream"),
        ("application/json, text/event-stream", "application/json"),
        ("text/event-stream;q=0", "application/json"),
        ("*/*", "application/json"),
    ],
)
def test_the_feed_is_for_a_client_that_names_it(stage: Stage, accept: str, kind: str) -> None:
    with stage.client.stream("GET", "/agents/echo/capabilities", headers={"accept": accept}) as response:
        assert (response.status_code, response.headers["content-type"]) == (200, kind)


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/agents/ghost/capabilities", 404, "UNKNOWN_AGENT"),
        ("/agents/full/capabilities?view=panorama", 400, "UNKNOWN_VIEW"),
        ("/agents/modelled/capabilities?model=huge", 404, "UNKNOWN_MODEL"),
    ],
)
def test_what_cannot_be_watched_is_refused_before_the_first_byte(
    stage: Stage, path: str, status: int, code: str
) -> None:
    problem_in(stage.client.get(path, headers=SSE), status, code)


def test_a_client_that_only_asks_for_the_head_is_not_kept_waiting(stage: Stage) -> None:
    response = stage.client.head("/agents/echo/capabilities", headers=SSE)
    assert (response.status_code, response.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")


def test_a_silent_feed_is_kept_alive(stage: Stage) -> None:
    with stage.client.stream("GET", "/agents/echo/capabilities", headers=SSE) as response:
        comments = (line for line in response.iter_lines() if line.startswith(":"))
        assert len(list(islice(comments, 2))) == 2


def test_one_s_thread_is_not_another_s(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.txt"
    tokens.write_text("ann:ann-0123456789abcdef\nbob:bob-0123456789abcdef\n", "utf-8")
    tokens.chmod(0o600)
    ann, bob = ({"authorization": f"Bearer {name}-0123456789abcdef"} for name in ("ann", "bob"))
    stage = Stage(tmp_path / "home", "--token-file", str(tokens))
    stage.agent("full", "--full")
    with stage:
        talk = Talk(stage, "full")
        stage.post("full", talk.input("hello"), **ann)
        path = f"/agents/full/capabilities?thread={talk.id}"
        with watching(stage, path, **ann) as hers, watching(stage, path, **bob) as his:
            assert seen(hers, MODE, "ask")
            assert "session" not in next(his).snapshot["custom"]


# -- what it costs


def test_an_agent_that_no_client_watches_any_more_is_left_alone(stage: Stage) -> None:
    asked = stage.agents / "asked"
    with watching(stage, "/agents/live/capabilities") as feed:
        next(feed)
        before = asked.stat().st_size
        eventually(lambda: asked.stat().st_size > before + 5)

    def calm() -> bool:
        size, until = asked.stat().st_size, time.monotonic() + 0.5
        while time.monotonic() < until:
            if asked.stat().st_size != size:
                return False
        return True

    eventually(calm)


def test_a_watcher_that_does_not_read_holds_up_no_other_and_then_has_the_newest(stage: Stage) -> None:
    request = f"GET /agents/live/capabilities HTTP/1.1\r\nhost: x\r\naccept: {SSE['accept']}\r\n\r\n"
    with Connection(stage) as lazy, watching(stage, "/agents/live/capabilities") as feed:
        lazy.send(request.replace("host: x", f"host: {stage.url.removeprefix('http://')}").encode())
        for number in range(3):
            say(stage, f"word {number}")
            seen(feed, "custom.word", f"word {number}")


def test_many_watchers_are_all_informed(stage: Stage) -> None:
    say(stage, "to one")
    with ExitStack() as stack:
        feeds = [stack.enter_context(watching(stage, "/agents/live/capabilities")) for _ in range(50)]
        for feed in feeds:
            seen(feed, "custom.word", "to one")
        say(stage, "to all")
        events_ = [next(feed) for feed in feeds]
    assert {heard.snapshot["custom"]["word"] for heard in events_} == {"to all"}
    assert len({heard.number for heard in events_}) == 1


def test_a_gateway_that_stops_lets_its_watchers_go(tmp_path: Path) -> None:
    with Gateway(tmp_path) as gateway, watching(gateway, "/agents/echo/capabilities") as feed:
        next(feed)
        began = time.monotonic()
        assert gateway.terminate() == 0
        assert list(feed) == []
        assert time.monotonic() - began < 5
