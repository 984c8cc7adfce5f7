"""Replays a recorded conversation with an agent; a dialect takes the place of the recorded client.

In: the entries of a recording, `{"dir": "in" | "out", "line": …}`: `in` was sent by the client, `out` by the agent.
Out: the events, turn by turn, the runs that a client of the gateway sees, and what the dialect sent.

A subclass is the adapter of one agent. It makes the dialect do what the recorded client did (`repeat`), and gives the
agent's responses the ids of the dialect's own requests (`translate`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import orjson

from gateway.events import Event, Interrupt, InterruptRequested, TurnEnded, TurnFailed
from gateway.turn import Answer, Approvals
from gateway.wire.dialects import Dialect, Prompt, SessionStart
from gateway.wire.lines import Lines
from tests.replay.runs import DIED, Runs

Json = dict[str, Any]
Cut = Callable[[bytes], Iterator[bytes]]

MAX_MESSAGE_BYTES = 100_000_000

D = TypeVar("D", bound=Dialect)
R = TypeVar("R", bound="DialectReplay[Any]")


class Framing(Protocol):
    """Bytes → messages."""

    def feed(self, data: bytes, /) -> Sequence[object]: ...


def uncut(data: bytes) -> Iterator[bytes]:
    yield data


@cache
def read_lines(path: Path) -> tuple[bytes, ...]:
    # By bytes: some texts hold characters that only Python takes for the end of a line.
    return tuple(line for line in path.read_bytes().split(b"\n") if line)


def read_entries(path: Path) -> list[Json]:
    return [orjson.loads(line) for line in read_lines(path)]


class DialectReplay(Generic[D]):
    """One recording. `cut`: how the agent's bytes arrive. `approvals`: the policy of every prompt."""

    reads_one_by_one = True
    """The dialect reads each message as it comes. False: all that came before the client's next message, at once."""

    resumes_at_first_answer = False
    """A run starts with the first answer of several. False: with the last."""

    def __init__(
        self, dialect: D, entries: Sequence[Json], *, approvals: Approvals = "prompt", cut: Cut = uncut
    ) -> None:
        self.dialect = dialect
        self.events: list[Event] = []
        self.turns: list[list[Event]] = []
        """The events of each turn; those that came before it open it."""
        self.late_events: list[Event] = []
        """The events after the last turn."""
        self.runs = Runs()
        self.messages: list[bytes] = []
        """What the agent sent, with the dialect's ids."""
        self.sent: list[Json] = []
        """What the dialect sent."""
        self.interrupts: dict[str, Interrupt] = {}
        """Not answered yet."""
        self.ids: dict[Any, Any] = {}
        """Recorded id of a request → id of the dialect's own."""
        self.entries = list(entries)
        self.position = 0
        self.approvals = approvals
        self.unmatched: list[Json] = []
        """Requests of the dialect's for which no recorded one has come yet."""
        self._pending: list[bytes] = []
        self._cut = cut
        self._framing = self.make_framing()

    # -- the adapter of an agent

    def repeat(self, line: Any) -> None:
        """Make the dialect do what the recorded client did with this message."""
        raise NotImplementedError

    def translate(self, line: Any) -> bytes | None:
        """A message of the agent with the dialect's ids. None: it answers what the dialect did not ask."""
        return orjson.dumps(line)

    def make_framing(self) -> Framing:
        return Lines(MAX_MESSAGE_BYTES)

    def frame(self, message: bytes) -> bytes:
        return message + b"\n"

    def read_sent(self, message: bytes) -> Json:
        """A message of the dialect's, as `sent` shows it."""
        parsed: Json = orjson.loads(message)
        return parsed

    # -- the recording

    def play(self: R) -> R:
        while self.position < len(self.entries):
            self._play_next()
        self.flush()
        return self

    def play_to_prompt(self) -> list[bytes]:
        """Up to the first prompt. Returns the agent's messages after it, whatever the client sent then."""
        while not self.has_prompted:
            self._play_next()
        rest = [entry["line"] for entry in self.entries[self.position :] if entry["dir"] == "out"]
        return [message for line in rest if (message := self.translate(line)) is not None]

    def _play_next(self) -> None:
        entry = self.entries[self.position]
        self.position += 1
        if entry["dir"] == "in":
            self.flush()
            self.repeat(entry["line"])
            self.collect_sent()
            return
        message = self.translate(entry["line"]) if self.is_started else None
        if message is not None:
            self.receive(message)
        if self.reads_one_by_one:
            self.flush()

    @property
    def is_started(self) -> bool:
        """The dialect has a session, so that the agent's messages concern it."""
        return bool(self.dialect.session_start.cwd)

    @property
    def has_prompted(self) -> bool:
        """The first prompt was sent. An adapter whose dialect sends settings first knows better."""
        return bool(self.turns)

    def next_requests(self) -> Iterator[Json]:
        """What the recorded client sent from here on, this message included."""
        return (entry["line"] for entry in self.entries[self.position - 1 :] if entry["dir"] == "in")

    # -- what the agent sent

    def receive(self, message: bytes) -> None:
        """A message of the agent, to be read by the next `flush`."""
        self._pending.append(message)

    def flush(self) -> None:
        """Let the dialect read what is pending."""
        messages = self._pending
        self._pending = []
        self.messages += messages
        for piece in self._cut(b"".join(map(self.frame, messages))):
            batch = [message for message in self._framing.feed(piece) if isinstance(message, bytes)]
            if batch:
                self.read(batch)

    def read(self, batch: list[bytes]) -> None:
        is_in_turn = self.dialect.is_busy
        events = self.dialect.read(batch)
        self.add_events(events, is_in_turn=is_in_turn)
        self.collect_sent()

    def add_events(self, events: list[Event], *, is_in_turn: bool) -> None:
        self.events += events
        ends = [at for at, event in enumerate(events, 1) if isinstance(event, TurnEnded | TurnFailed)]
        end = (ends or [len(events)])[0] if is_in_turn else 0
        if end:
            self.turns[-1] += events[:end]
        self.late_events += events[end:]
        for event in events:
            if isinstance(event, InterruptRequested):
                self.interrupts |= {interrupt.id: interrupt for interrupt in event.interrupts}
        self.runs.add(events)

    # -- what the client sent

    def prompt(self, prompt: Prompt) -> None:
        self.turns.append(self.late_events)
        self.late_events = []
        self.runs.start()
        self.dialect.prompt(prompt)
        self.collect_sent()

    @property
    def turn_number(self) -> int:
        """Of the next prompt."""
        return len(self.turns) + 1

    def answer(self, interrupt_id: str, payload: Any) -> None:
        """The user's answer. None: cancelled."""
        del self.interrupts[interrupt_id]
        if self.resumes_at_first_answer or not self.interrupts:
            self.runs.start()
        answer = Answer(interrupt_id, "resolved", payload) if payload is not None else Answer(interrupt_id, "cancelled")
        self.dialect.answer(interrupt_id, answer)
        self.collect_sent()

    def end_process(self, exit_code: int | None = 0, stderr: str = "") -> None:
        """The recording is over. A turn that is under way ends with the process."""
        is_in_turn = self.dialect.is_busy
        events = self.dialect.on_process_exit(exit_code, stderr)
        self.add_events(events, is_in_turn=is_in_turn)
        if self.runs.is_open:
            self.runs.add([DIED])

    def collect_sent(self) -> list[Json]:
        """What the dialect has sent since the last call."""
        messages = [self.read_sent(message) for message in self.dialect.outbox]
        self.dialect.outbox = []
        self.sent += messages
        self.unmatched += messages
        return messages

    def next_is(self, method: str) -> bool:
        """The dialect has sent this request by itself."""
        return bool(self.unmatched) and self.unmatched[0]["method"] == method

    def take_request(self, method: str) -> Json | None:
        """The oldest request of this method that the dialect has sent, and that was not taken before."""
        request = next((request for request in self.unmatched if request.get("method") == method), None)
        if request is not None:
            self.unmatched.remove(request)
        return request

    def match(self, recorded_id: Any, method: str) -> Json:
        """The dialect's own request for a recorded one; what it sent before stays without a response."""
        for at, request in enumerate(self.unmatched):
            if request["method"] == method:
                self.ids[recorded_id] = request["id"]
                del self.unmatched[: at + 1]
                return request
        raise AssertionError(f"the dialect did not send {method}; it sent {self.unmatched}")


class PrintReplay(DialectReplay[Dialect]):
    """A recording of one turn of a program that takes a prompt and prints its answer: only its lines were recorded."""

    def __init__(
        self,
        dialect: Dialect,
        lines: Sequence[bytes],
        *,
        exit_code: int | None = 0,
        stderr: str = "",
        is_cancelled: bool = False,
        cut: Cut = uncut,
    ) -> None:
        super().__init__(dialect, [], cut=cut)
        dialect.start_session(SessionStart("/workspace"))
        self.prompt(Prompt([{"type": "text", "text": "hello"}], "t1"))
        dialect.is_cancelled = is_cancelled
        for line in lines:
            self.receive(line)
        self.flush()
        if dialect.is_busy:
            self.end_process(exit_code, stderr)

    def read_sent(self, message: bytes) -> Json:
        return {"text": message.decode()}
