"""One prompt until its turn is over: as many runs as it takes, with the interrupts answered in between.

In: a thread, a message, options. Out: an exit code. The view shows the events, the prompter asks the user.
"""

from __future__ import annotations

from typing import Any

from gateway.cli.chat.client import GatewayClient
from gateway.cli.chat.prompts import InterruptPrompter
from gateway.cli.chat.run_input import build_run_input, new_run_id
from gateway.cli.chat.signals import CtrlC
from gateway.cli.chat.tool_calls import ToolCalls
from gateway.cli.exit import CANCELLED, FAILED
from gateway.cli.output.plain_view import View

FINISHED = 0
LOST_TURN_CODES = ("TURN_LOST", "INTERRUPT_EXPIRED")
"""The turn behind the interrupt no longer exists; the conversation goes on without it."""
INVALID_ANSWER_CODE = "RESUME_INVALID"
"""The gateway refused the answer; the interrupt is still open."""


class Conversation:
    """Runs prompts on one agent."""

    def __init__(
        self, client: GatewayClient, view: View, calls: ToolCalls, prompter: InterruptPrompter, ctrl_c: CtrlC
    ) -> None:
        self._client = client
        self._view = view
        self._calls = calls
        self._prompter = prompter
        self._ctrl_c = ctrl_c

    def run_prompt(self, thread_id: str, message: dict[str, Any], options: dict[str, Any], *, is_known: bool) -> int:
        """`is_known`: the thread may have earlier messages and open interrupts."""
        try:
            earlier: list[dict[str, Any]] = []
            if is_known:
                thread = self._client.thread(thread_id)
                earlier = thread.messages
                if thread.interrupts:
                    code = self._answer_open(build_run_input(thread_id, earlier, options), thread.interrupts)
                    if code != FINISHED:
                        return code
                    earlier = self._client.thread(thread_id).messages
            body = build_run_input(thread_id, [*earlier, message], options)
            return self._finish_turn(body, self._run(body), [])
        finally:
            self._view.close()

    def _answer_open(self, body: dict[str, Any], interrupts: list[dict[str, Any]]) -> int:
        """Open interrupts of the thread must be answered before a new message is accepted."""
        last = self._run(body | {"resume": self._prompter.answer_all(interrupts)})
        if last.get("code") in LOST_TURN_CODES:
            return FINISHED
        return self._finish_turn(body, last, interrupts)

    def _finish_turn(self, body: dict[str, Any], last: dict[str, Any], answered: list[dict[str, Any]]) -> int:
        """Runs until the turn is over. `answered`: the last interrupts, asked again if the answer was refused."""
        while True:
            interrupts = open_interrupts(last) or (answered if last.get("code") == INVALID_ANSWER_CODE else [])
            if self._ctrl_c.is_pressed:
                return self._cancel(body, interrupts)
            if not interrupts:
                return exit_code(last)
            try:
                answers = self._prompter.answer_all(interrupts)
            except KeyboardInterrupt:
                return self._cancel(body, interrupts)
            body = body | {"runId": new_run_id(), "resume": answers}
            answered = interrupts
            last = self._run(body)

    def _run(self, body: dict[str, Any]) -> dict[str, Any]:
        """One run; returns its last event."""
        last: dict[str, Any] = {}
        try:
            for event in self._client.run(body):
                # From now on the gateway knows the run and can cancel it; before, closing the connection does.
                self._ctrl_c.run_started(body["runId"])
                self._calls.feed(event)
                self._view.feed(event)
                last = event
        finally:
            self._ctrl_c.run_ended()
        return last

    def _cancel(self, body: dict[str, Any], interrupts: list[dict[str, Any]]) -> int:
        if interrupts:
            self._client.cancel(body["runId"])  # the turn that waits for the answers
        return CANCELLED


def open_interrupts(last: dict[str, Any]) -> list[dict[str, Any]]:
    match last:
        case {"type": "RUN_FINISHED", "outcome": {"type": "interrupt", "interrupts": list(interrupts)}}:
            return interrupts
        case _:
            return []


def exit_code(last: dict[str, Any]) -> int:
    match last:
        case {"type": "RUN_FINISHED", "outcome": {"type": "cancelled"}}:
            return CANCELLED
        case {"type": "RUN_FINISHED"}:
            return FINISHED
        case _:
            return FAILED
