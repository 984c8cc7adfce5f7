"""One prompt to its end: as many runs as it takes, with the agent's questions answered in between.

In: a thread, a message, wishes. Out: an exit code. What is seen of it is the view's affair, what is asked the asker's.
"""

from __future__ import annotations

from typing import Any

from gateway.cli.chat.client import GatewayClient
from gateway.cli.chat.prompts import InterruptPrompter
from gateway.cli.chat.run_input import new_run, run_input
from gateway.cli.chat.signals import CtrlC
from gateway.cli.chat.tool_calls import Calls
from gateway.cli.exit import CANCELLED, FAILED
from gateway.cli.output.plain_view import View

FINISHED = 0
LOST = ("TURN_LOST", "INTERRUPT_EXPIRED")
"""The turn that asked is gone; the conversation goes on without it."""
INVALID = "RESUME_INVALID"
"""An answer that the gateway does not take; the question is still open."""


class Conversation:
    def __init__(self, talk: GatewayClient, view: View, calls: Calls, asker: InterruptPrompter, stopper: CtrlC) -> None:
        self._talk, self._view, self._calls, self._asker, self._stopper = talk, view, calls, asker, stopper

    def hold(self, thread_id: str, message: dict[str, Any], wishes: dict[str, Any], *, known: bool) -> int:
        """`known`: there may be a conversation to go on with."""
        try:
            earlier: list[dict[str, Any]] = []
            if known:
                thread = self._talk.thread(thread_id)
                earlier = thread.messages
                if thread.interrupts:
                    code = self._answer_first(run_input(thread_id, earlier, wishes), thread.interrupts)
                    if code != FINISHED:
                        return code
                    earlier = self._talk.thread(thread_id).messages
            return self._play(run_input(thread_id, [*earlier, message], wishes))
        finally:
            self._view.close()

    def _answer_first(self, body: dict[str, Any], interrupts: list[dict[str, Any]]) -> int:
        """What the thread still waits for must be answered before anything new is said."""
        last = self._run(body | {"resume": self._asker.answers(interrupts)})
        if last.get("code") in LOST:
            return FINISHED
        return self._go_on(body, last, interrupts)

    def _play(self, body: dict[str, Any]) -> int:
        return self._go_on(body, self._run(body), [])

    def _go_on(self, body: dict[str, Any], last: dict[str, Any], asked: list[dict[str, Any]]) -> int:
        """Until the turn is over. `asked`: what was answered last, and is asked again if the answer was none."""
        while True:
            interrupts = questions(last) or (asked if last.get("code") == INVALID else [])
            if self._stopper.pressed:
                return self._give_up(body, interrupts)
            if not interrupts:
                return code_of(last)
            try:
                answers = self._asker.answers(interrupts)
            except KeyboardInterrupt:
                return self._give_up(body, interrupts)
            body = body | {"runId": new_run(), "resume": answers}
            asked, last = interrupts, self._run(body)

    def _run(self, body: dict[str, Any]) -> dict[str, Any]:
        """One run; its last event."""
        last: dict[str, Any] = {}
        try:
            for event in self._talk.run(body):
                # From now on the gateway knows it, and can be asked to stop it; before, closing the connection does.
                self._stopper.run_id = body["runId"]
                self._calls.feed(event)
                self._view.feed(event)
                last = event
        finally:
            self._stopper.run_id = None
        return last

    def _give_up(self, body: dict[str, Any], interrupts: list[dict[str, Any]]) -> int:
        if interrupts:
            self._talk.cancel(body["runId"])  # the turn that waits for the answers
        return CANCELLED


def questions(last: dict[str, Any]) -> list[dict[str, Any]]:
    match last:
        case {"type": "RUN_FINISHED", "outcome": {"type": "interrupt", "interrupts": list(interrupts)}}:
            return interrupts
        case _:
            return []


def code_of(last: dict[str, Any]) -> int:
    match last:
        case {"type": "RUN_FINISHED", "outcome": {"type": "cancelled"}}:
            return CANCELLED
        case {"type": "RUN_FINISHED"}:
            return FINISHED
        case _:
            return FAILED
