"""Recordings of `codex app-server`, played through the dialect and `Outbound` the way a driver and runs do.

What the recorded client sent is taken as said: it opens threads, begins turns, answers questions, cancels. Its numbers
are replaced by the dialect's own ids. Everything that the server sent goes through `Lines`, in any cut, and is routed to
the sessions of the process by `owner`. A question ends a run, and its answer begins the next.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.agui.outbound import Outbound, Suspended
from gateway.events import Asked, Broke, Ended, Event, Question, Unread, Used, Wire
from gateway.turn import Answer
from gateway.wire.dialects import Begin, Dialect, Prompt
from gateway.wire.dialects.codex import Codex
from gateway.wire.lines import Lines
from tests.agui.playing import accepted
from tests.agui.streams import steady
from tests.dialects.playing import Recording
from tests.wire.acp.playing import interrupt

TRANSCRIPTS = Path(__file__).parents[1] / "transcripts" / "codex"
NAMES = sorted(path.stem for path in TRANSCRIPTS.glob("appserver-*.jsonl"))
OPENING = ("thread/start", "thread/resume", "thread/fork")
PERSISTED = {"session": "acceptForSession", "always": "acceptAlways"}

Json = dict[str, Any]
Cut = Callable[[bytes], Iterator[bytes]]


@cache
def text_of(name: str) -> bytes:
    return (TRANSCRIPTS / f"{name}.jsonl").read_bytes()


def entries(name: str) -> list[Json]:
    return [json.loads(line) for line in text_of(name).split(b"\n") if line]


def compact(line: Json) -> bytes:
    """As the server writes it."""
    return json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode()


def whole(data: bytes) -> Iterator[bytes]:
    yield data


@dataclass
class Talk:
    """One session."""

    dialect: Codex
    events: list[Event] = field(default_factory=list)
    runs: list[list[Wire]] = field(default_factory=list)
    late: list[Event] = field(default_factory=list)
    questions: dict[str, Question] = field(default_factory=dict)
    out: Outbound | None = None
    suspended: Suspended | None = None

    def tell(self, events: list[Event]) -> None:
        self.events += events
        for event in events:
            if isinstance(event, Asked):
                self.questions |= {question.id: question for question in event.questions}
            if self.out is None:
                self.late.append(event)
                continue
            self.runs[-1] += self.out.feed([event])
            if isinstance(event, Ended | Broke):
                self.finish()

    def start(self) -> None:
        number = len(self.runs) + 1
        self.out = Outbound("thread", f"run{number}", f"r{number}", merging=False)
        self.runs.append(self.out.started(suspended=self.suspended) if self.suspended else self.out.started())
        late, self.late, self.suspended = self.late, [], None
        self.runs[-1] += self.out.feed(late)

    def finish(self) -> None:
        assert self.out is not None
        match self.out.ended:
            case Broke(message, code):
                self.runs[-1] += self.out.failed(message, code)
            case Ended(stop_reason="cancelled"):
                self.runs[-1] += self.out.finished(cancelled=True)
            case _:
                self.runs[-1] += self.out.finished()
        self.out = None

    def park(self) -> None:
        """Whatever was asked by now ends the run."""
        if self.out is not None and self.out.asked:
            asked = self.out.interrupts([interrupt(question) for question in self.out.asked])
            self.suspended = self.out.suspended()
            self.runs[-1] += self.out.finished(asked)
            self.out = None


class Play:
    def __init__(self, name: str, cut: Cut = whole) -> None:
        self._cut, self._lines = cut, Lines(100_000_000)
        self.talks: list[Talk] = []
        self.sent: list[Json] = []
        self.answers: list[tuple[Json, Json]] = []
        """What the recorded client answered, and what the dialect does."""
        self._ids: dict[Any, str | None] = {}
        self._unmatched: list[Json] = []
        self._pending: list[Json] = []
        told = entries(name)
        self._first = next(e["line"] for e in told if e["dir"] == "in" and e["line"].get("method") in OPENING)
        for entry in told:
            if entry["dir"] == "out":
                self._pending.append(entry["line"])
            else:
                self._flush()
                self._client(entry["line"])
        self._flush()
        for talk in self.talks:
            if talk.out is not None:
                talk.tell([*talk.dialect.closed(0, ""), Broke("the agent is gone", "AGENT_DIED")])

    # -- what the client did

    def _client(self, line: Json) -> None:
        match line:
            case {"method": "initialize", "id": number}:
                self._open(self._first)
                self._match(number, "initialize")
            case {"method": str(method), "id": number} if method in OPENING:
                if line is not self._first and line["id"] != self._first["id"]:
                    self._open(line, connected=True)
                self._match(number, method)
            case {"method": "turn/start", "id": number, "params": {"threadId": thread}} if self._of(thread):
                self._prompt(self._of(thread)[0], line["params"])
                self._match(number, "turn/start")
            case {"method": "turn/interrupt", "id": number, "params": {"threadId": thread}}:
                [talk] = self._of(thread)
                if talk.out is None:  # parked: how it ends is seen in a run of its own
                    talk.questions.clear()
                    talk.start()
                talk.dialect.cancel()
                self._take(talk)
                self._match(number, "turn/interrupt")
            case {"method": "model/list" | "thread/list" as method, "id": number}:
                self.talks[0].dialect.do({"model/list": "models", "thread/list": "list"}[method])
                self._take(self.talks[0])
                self._match(number, method)
            case {"id": number, "result": dict(result)}:
                self._answer(number, result, line)
            case _:
                self._ids[line.get("id")] = None  # nothing that the gateway does

    def _open(self, line: Json, *, connected: bool = False) -> None:
        params = line.get("params", {})
        talk = Talk(Codex())
        kept = {key: params[key] for key in ("approvalPolicy", "sandbox", "model") if key in params}
        told = {"thread": kept, "connected": connected}
        begin = Begin(
            params.get("cwd", "/workspace"), params.get("threadId"), line["method"] == "thread/fork", params=told,
            tag=f"s{len(self.talks)}",
        )  # fmt: skip
        self.talks.append(talk)
        talk.dialect.begin(begin)
        self._take(talk)

    def _prompt(self, talk: Talk, params: Json) -> None:
        number = sum(len(known.runs) for known in self.talks) + 1
        talk.start()
        talk.dialect.prompt(Prompt(params["input"], f"t{number}"))
        self._take(talk)

    def _answer(self, number: Any, result: Json, line: Json) -> None:
        for talk in self.talks:
            name = next((name for name in talk.questions if name.endswith(f":ask:{number}")), None)
            if name is not None:
                question = talk.questions.pop(name)
                if talk.out is None and not talk.questions and talk.dialect.busy:
                    talk.start()
                talk.dialect.answer(name, Answer(name, "resolved", payload(result)))
                before = len(self.sent)
                self._take(talk)
                if offered(question, payload(result)):
                    self.answers.append((line, self.sent[before]))

    def _take(self, talk: Talk) -> None:
        """What the dialect has to say."""
        messages, talk.dialect.outbox = [json.loads(message) for message in talk.dialect.outbox], []
        self.sent += messages
        self._unmatched += [message for message in messages if "method" in message]

    def _match(self, number: Any, method: str) -> None:
        found = next((message for message in self._unmatched if message["method"] == method), None)
        self._ids[number] = found["id"] if found else None
        if found:
            self._unmatched.remove(found)

    def _of(self, thread: Any) -> list[Talk]:
        return [talk for talk in self.talks if talk.dialect.session_id == thread]

    # -- what the server sent

    def _flush(self) -> None:
        lines, self._pending = self._pending, []
        data = b"".join(compact(line) + b"\n" for line in map(self._renamed, lines) if line)
        for piece in self._cut(data):
            self._hear([line for line in self._lines.feed(piece) if isinstance(line, bytes)])
        for talk in self.talks:
            talk.park()

    def _renamed(self, line: Json) -> Json | None:
        if "method" in line:
            return line
        ours = self._ids.get(line.get("id"))
        return None if ours is None else {**line, "id": ours}

    def _hear(self, messages: list[bytes]) -> None:
        for talk in list(self.talks):
            own = [message for message in messages if self._is_for(talk, Codex.owner(message))]
            if own:
                talk.tell(talk.dialect.read(own))
                self._take(talk)

    def _is_for(self, talk: Talk, owner: str | None) -> bool:
        owners = [one for one in self.talks if owner in (one.dialect.given.tag, one.dialect.session_id)]
        return talk in owners if owner is not None and owners else True


def payload(result: Json) -> Json:
    match result:
        case {"decision": str(decision)}:
            return {"optionId": decision}
        case {"action": "accept", "_meta": {"persist": persist}}:
            return {"optionId": PERSISTED[persist]}
        case {"action": action}:
            return {"approved": action == "accept"}
        case {"permissions": dict(granted)}:
            return {"approved": bool(granted)}
        case {"answers": dict(answers)}:
            return {name: one["answers"][0] for name, one in answers.items()}
        case _:
            return {}


def offered(question: Question, given: Json) -> bool:
    """The recorded client also tried a decision that was not offered."""
    choices = (question.response_schema or {})["properties"].get("optionId", {}).get("enum", [])
    return "optionId" not in given or given["optionId"] in choices


@cache
def played(name: str) -> Play:
    return Play(name)


def all_events(name: str) -> list[Wire]:
    return [event for talk in played(name).talks for run in talk.runs for event in run]


# -- for mutations


def turns(name: str) -> list[tuple[Json, list[Json]]]:
    """Each turn of a recording: the request that began it, and what the server sent until the next."""
    found: list[tuple[Json, list[Json]]] = []
    for entry in entries(name):
        line = entry["line"]
        if entry["dir"] == "in" and line.get("method") == "turn/start":
            found.append((line, []))
        elif entry["dir"] == "out" and found:
            found[-1][1].append(line)
    return [(request, lines) for request, lines in found if request["params"]["threadId"] != "nope"]


def recorded_turn(name: str, number: int) -> tuple[Dialect, list[bytes]]:
    request, lines = turns(name)[number]
    dialect = ready(request["params"]["threadId"])
    dialect.prompt(Prompt(request["params"]["input"], "t1"))
    ours = json.loads(dialect.outbox[-1])["id"]
    named = [{**line, "id": ours} if line.get("id") == request["id"] and "method" not in line else line for line in lines]
    return dialect, [compact(line) for line in named]


def ready(thread: str = "th", **begin: Any) -> Codex:
    """A session whose thread is open."""
    dialect = Codex()
    dialect.begin(Begin("/workspace", **begin))
    dialect.read([b'{"id":"s:1","result":{"userAgent":"agui_gateway/0.166.0 (Debian)"}}'])
    opened = {"thread": {"id": thread, "cliVersion": "0.166.0"}, "model": "gpt-5.5", "modelProvider": "lab", "cwd": "/w"}
    dialect.read([json.dumps({"id": "s:2", "result": opened}).encode()])
    assert dialect.ready
    dialect.outbox.clear()
    return dialect


RECORDINGS: dict[str, Recording] = {
    f"{name}/{number}": partial(recorded_turn, name, number) for name in NAMES for number in range(len(turns(name)))
}


# -- tests


def test_all_recordings_are_played() -> None:
    assert len(NAMES) == 12
    assert len(RECORDINGS) == 33


@pytest.mark.parametrize("name", NAMES)
def test_every_run_is_a_stream_that_clients_accept(name: str) -> None:
    assert any(talk.runs for talk in played(name).talks)
    for talk in played(name).talks:
        for run in talk.runs:
            accepted(run)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_left_unread_and_nothing_had_to_be_put_in_order(name: str) -> None:
    assert [event for talk in played(name).talks for event in talk.events if isinstance(event, Unread)] == []
    assert [event for event in all_events(name) if event["type"] == "RAW"] == []


@pytest.mark.parametrize("name", NAMES)
def test_texts_and_thoughts_are_whole(name: str) -> None:
    for talk in played(name).talks:
        thread = talk.dialect.session_id
        assert said(talk, "TEXT_MESSAGE") == recorded(name, thread, "item/agentMessage/delta")
        assert said(talk, "REASONING_MESSAGE") == recorded(name, thread, "item/reasoning/summaryTextDelta")


@pytest.mark.parametrize("name", NAMES)
def test_every_call_has_a_start_an_end_and_a_result(name: str) -> None:
    for talk in played(name).talks:
        stream = [event for run in talk.runs for event in run]
        started = sorted(event["toolCallId"] for event in stream if event["type"] == "TOOL_CALL_START")
        assert len(started) == len(set(started))
        for kind in ("TOOL_CALL_END", "TOOL_CALL_RESULT"):
            assert sorted(event["toolCallId"] for event in stream if event["type"] == kind) == started


@pytest.mark.parametrize("name", NAMES)
def test_the_answers_are_those_that_the_recorded_client_gave(name: str) -> None:
    for recorded_answer, ours in played(name).answers:
        assert ours == recorded_answer


def test_answers_of_every_kind_were_compared() -> None:
    kinds = {next(iter(ours["result"])) for name in NAMES for _, ours in played(name).answers}
    assert kinds == {"decision", "action", "permissions", "answers"}


@pytest.mark.parametrize("name", NAMES)
def test_tokens_add_up_to_the_threads_total(name: str) -> None:
    for talk in played(name).talks:
        counts = [
            entry["line"]["params"]["tokenUsage"]["total"]
            for entry in entries(name)
            if entry["line"].get("method") == "thread/tokenUsage/updated"
            and entry["line"]["params"]["threadId"] == talk.dialect.session_id
        ]
        used = [event for event in talk.events if isinstance(event, Used)]
        before = counts[0] if counts and talk.dialect.given.session_id else {"inputTokens": 0, "outputTokens": 0}
        if name != "appserver-subagent" and counts:
            assert sum(one.input_tokens or 0 for one in used) == counts[-1]["inputTokens"] - before["inputTokens"]
            assert sum(one.output_tokens or 0 for one in used) == counts[-1]["outputTokens"] - before["outputTokens"]


@settings(steady, max_examples=10)
@given(st.sampled_from(NAMES), st.lists(st.integers(1, 900), min_size=1, max_size=20))
def test_the_events_are_the_same_however_the_bytes_are_cut(name: str, sizes: list[int]) -> None:
    def cut(data: bytes) -> Iterator[bytes]:
        start = number = 0
        while start < len(data):
            size = sizes[number % len(sizes)]
            yield data[start : start + size]
            start, number = start + size, number + 1

    assert [talk.runs for talk in Play(name, cut).talks] == [talk.runs for talk in played(name).talks]


def test_a_thread_that_is_gone_is_begun_anew() -> None:
    lost = played("appserver-sessions").talks[-1].dialect
    assert lost.anew and not lost.ready
    assert [message["method"] for message in played("appserver-sessions").sent[-2:]] == ["thread/resume", "thread/start"]


def test_a_fork_is_a_thread_of_its_own() -> None:
    resumed, forked, _ = played("appserver-sessions").talks
    assert forked.dialect.ready and forked.dialect.session_id != resumed.dialect.session_id


def test_models_and_threads_are_listed() -> None:
    dialect = played("appserver-sessions").talks[0].dialect
    listed = [reply.value for reply in dialect.replies.values()]
    assert [len(value) for value in listed] == [3, 3, 9, 3]
    assert listed[2][0] | {"description": ""} == {
        "id": "gpt-6.1-sol",
        "name": "GPT-6.1-Sol",
        "description": "",
        "efforts": ["low", "medium", "high", "xhigh", "max", "ultra"],
        "defaultEffort": "low",
        "default": True,
    }
    assert dialect.facts["custom.acp.models.available"][0]["id"] == "gpt-6.1-sol"
    assert listed[0][0]["title"] == "tool2:sh echo hi"


def said(talk: Talk, kind: str) -> str:
    """The session's own words, its subagents' left out."""
    stream = (event for run in talk.runs for event in run if event["type"] == f"{kind}_CONTENT")
    return "".join(event["delta"] for event in stream if "subagentRunId" not in event)


def recorded(name: str, thread: str | None, method: str) -> str:
    told = (entry["line"]["params"] for entry in entries(name) if entry["line"].get("method") == method)
    return "".join(params["delta"] for params in told if params["threadId"] == thread)
