"""An agent's questions, put to whoever sits at the terminal.

In: AG-UI interrupts. Out: the entries of the next run's `resume`. A yes is only ever somebody's own key: where nobody
can be asked, and where somebody gives up, the answer is `cancelled`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from gateway.cli.chat.forms import Form, FormAbandoned, choices
from gateway.cli.chat.keypress import END, ESCAPE, single_keys
from gateway.cli.chat.tool_calls import Call, Calls, arguments_shown
from gateway.cli.exit import complain
from gateway.cli.output.terminal import harmless

Interrupt = dict[str, Any]
Entry = dict[str, Any]

ARGUMENTS_SHOWN = 2000
"""Of what is to be agreed to. More than elsewhere: this is what the decision is about."""
EDIT = "e"


class InterruptPrompter:
    """`console`: where there is somebody to read it; None: there is nobody."""

    def __init__(self, console: Console | None, calls: Calls) -> None:
        self._console, self._calls = console, calls

    def answers(self, interrupts: Sequence[Interrupt]) -> list[Entry]:
        return [self._answer(interrupt) for interrupt in interrupts]

    def _answer(self, interrupt: Interrupt) -> Entry:
        if self._console is None:
            told = interrupt.get("message") or "something"
            complain(
                f"the agent asks {told!r}: nobody can answer here (stdin is not a terminal), so the question is "
                "cancelled. --approvals auto or deny decides beforehand."
            )
            return _cancelled(interrupt)
        call = self._calls.get(interrupt.get("toolCallId"))
        self._show(self._console, interrupt, call)
        try:
            return self._asked(self._console, interrupt, call)
        except FormAbandoned:
            return _cancelled(interrupt)

    def _show(self, console: Console, interrupt: Interrupt, call: Call | None) -> None:
        console.print()
        console.print(Text(harmless(f"? {interrupt.get('message') or 'The agent asks.'}"), "bold yellow"))
        if call is not None:
            console.print(Text(harmless(f"  {call.name} {arguments_shown(call, ARGUMENTS_SHOWN)}"), "cyan"))

    def _asked(self, console: Console, interrupt: Interrupt, call: Call | None) -> Entry:
        schema = interrupt.get("responseSchema")
        if schema is None:
            yes = choose(console, {"y": "yes", "n": "no"}) == "y"
            return _resolved(interrupt) if yes else _cancelled(interrupt)
        fields = schema.get("properties")
        if not isinstance(fields, dict) or not {"approved", "optionId"} & fields.keys():
            return _resolved(interrupt, Form(console).fill(schema))
        return _resolved(interrupt, self._decided(console, fields, call))

    def _decided(self, console: Console, fields: dict[str, Any], call: Call | None) -> Any:
        options = choices(fields.get("optionId", {}))
        keys = {str(number): label for number, (_, label) in enumerate(options[:9], 1)}
        if "approved" in fields:
            keys |= {"y": "yes", "n": "no"}
            if "editedArgs" in fields:
                keys[EDIT] = "yes, with other arguments"
        match choose(console, keys):
            case "y":
                return {"approved": True}
            case "n":
                return {"approved": False}
            case "e":
                return {"approved": True, "editedArgs": self._edited(console, fields["editedArgs"], call)}
            case number:
                return {"optionId": options[int(number) - 1][0]}

    def _edited(self, console: Console, schema: Any, call: Call | None) -> Any:
        """Field by field, an empty line keeps what the agent wants."""
        given = call.arguments if call is not None and isinstance(call.arguments, dict) else {}
        told = schema if isinstance(schema, dict) else {}
        fields = told.get("properties") or {name: _like(value) for name, value in given.items()}
        return Form(console).fill({**told, "properties": fields}, given)


def choose(console: Console, keys: dict[str, str]) -> str:
    """The key that was pressed, one of these. Escape and Ctrl-D give up."""
    with single_keys() as key:  # before the words are there, so that no early answer is lost
        for name, label in keys.items():
            console.print(Text(harmless(f"  {name}  {label}")))
        console.print(Text("> ", "dim"), end="")
        while (pressed := key().lower()) not in keys:
            if pressed in (ESCAPE, END):
                console.print("cancelled")
                raise FormAbandoned
            console.print(Text(f"one of {' '.join(keys)} > ", "dim"), end="")
    console.print(Text(harmless(keys[pressed])))
    return pressed


def _like(value: Any) -> dict[str, Any]:
    """The schema of what has this shape: a changed value stays of the same kind."""
    kinds = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    return {"type": kinds[type(value)]} if type(value) in kinds else {}


def _resolved(interrupt: Interrupt, payload: Any = None) -> Entry:
    entry = {"interruptId": interrupt["id"], "status": "resolved"}
    return entry if payload is None else {**entry, "payload": payload}


def _cancelled(interrupt: Interrupt) -> Entry:
    return {"interruptId": interrupt["id"], "status": "cancelled"}
