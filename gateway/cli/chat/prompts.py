"""Asks the user at the terminal about an agent's interrupts.

In: AG-UI interrupts. Out: the entries of the next run's `resume`. Never: an approval that the user has not given. Where
the user cannot be asked, or gives up, the answer is `cancelled`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from gateway.cli.chat.forms import Form, FormAbandoned, list_choices
from gateway.cli.chat.keypress import END, ESCAPE, single_keys
from gateway.cli.chat.tool_calls import ToolCall, ToolCalls, format_arguments
from gateway.cli.exit import print_error
from gateway.cli.output.terminal import printable

Interrupt = dict[str, Any]
Entry = dict[str, Any]

MAX_ARGUMENT_CHARS = 2000
"""More than in the rest of the output: the user decides about these arguments."""

TRUST_REASON = "gateway:workspace_trust"
DECIDE_APPROVALS = "--approvals auto or deny decides"
MAX_CONFIGURATION_LINES = 40

ALLOW = {"y": "Allow", "n": "Deny"}
EDIT = {"e": "Allow with other arguments"}


class InterruptPrompter:
    """`console`: where the user is asked; None: the user cannot be asked."""

    def __init__(self, console: Console | None, calls: ToolCalls) -> None:
        self._console = console
        self._calls = calls

    def answer_all(self, interrupts: Sequence[Interrupt]) -> list[Entry]:
        return [self._answer(interrupt) for interrupt in interrupts]

    def _answer(self, interrupt: Interrupt) -> Entry:
        if self._console is None:
            question = interrupt.get("message") or "a question"
            advice = "--trust trusts the working directory" if _is_about_trust(interrupt) else DECIDE_APPROVALS
            detail = f"the agent asks {question!r}, but stdin is not a terminal, so the question is cancelled."
            print_error(f"{detail} {advice} in advance.")
            return _cancelled(interrupt)
        call = self._calls.get(interrupt.get("toolCallId"))
        self._print_question(self._console, interrupt, call)
        try:
            return self._ask(self._console, interrupt, call)
        except FormAbandoned:
            return _cancelled(interrupt)

    def _print_question(self, console: Console, interrupt: Interrupt, call: ToolCall | None) -> None:
        console.print()
        question = interrupt.get("message") or "The agent asks for your answer."
        console.print(Text(printable(f"? {question}"), "bold yellow"))
        for line in configuration_lines(interrupt):
            console.print(Text(printable(f"  {line}"), "cyan"))
        if call is not None:
            console.print(Text(printable(f"  {call.name} {format_arguments(call, MAX_ARGUMENT_CHARS)}"), "cyan"))

    def _ask(self, console: Console, interrupt: Interrupt, call: ToolCall | None) -> Entry:
        schema = interrupt.get("responseSchema")
        if schema is None:
            is_allowed = choose_key(console, ALLOW) == "y"
            return _resolved(interrupt) if is_allowed else _cancelled(interrupt)
        fields = schema.get("properties")
        if not isinstance(fields, dict) or not {"approved", "optionId"} & fields.keys():
            return _resolved(interrupt, Form(console).fill(schema))
        return _resolved(interrupt, self._ask_approval(console, fields, call))

    def _ask_approval(self, console: Console, fields: dict[str, Any], call: ToolCall | None) -> Any:
        options = list_choices(fields.get("optionId", {}))
        keys = {str(number): label for number, (_, label) in enumerate(options[:9], 1)}
        if "approved" in fields:
            keys |= ALLOW
            if "editedArgs" in fields:
                keys |= EDIT
        match choose_key(console, keys):
            case "y":
                return {"approved": True}
            case "n":
                return {"approved": False}
            case "e":
                return {"approved": True, "editedArgs": self._edit_arguments(console, fields["editedArgs"], call)}
            case number:
                return {"optionId": options[int(number) - 1][0]}

    def _edit_arguments(self, console: Console, schema: Any, call: ToolCall | None) -> Any:
        """Field by field; an empty line keeps the agent's value."""
        arguments = call.arguments if call is not None and isinstance(call.arguments, dict) else {}
        base = schema if isinstance(schema, dict) else {}
        fields = base.get("properties") or {name: _schema_of(value) for name, value in arguments.items()}
        return Form(console).fill({**base, "properties": fields}, arguments)


def choose_key(console: Console, keys: dict[str, str]) -> str:
    """Waits for one of these keys. Escape and Ctrl-D raise `FormAbandoned`."""
    with single_keys() as read_key:  # before the options are printed, so that no early answer is lost
        for name, label in keys.items():
            console.print(Text(printable(f"  {name}  {label}")))
        console.print(Text("> ", "dim"), end="")
        while (pressed := read_key().lower()) not in keys:
            if pressed in (ESCAPE, END):
                console.print("Cancelled")
                raise FormAbandoned
            console.print(Text(f"press one of {' '.join(keys)} > ", "dim"), end="")
    console.print(Text(printable(keys[pressed])))
    return pressed


def configuration_lines(interrupt: Interrupt) -> list[str]:
    """What the folders in question would run or set, one line each."""
    metadata = interrupt.get("metadata")
    trust = metadata.get("trust") if isinstance(metadata, dict) else None
    folders = trust.get("folders") if isinstance(trust, dict) else None
    if not _is_about_trust(interrupt) or not isinstance(folders, list):
        return []
    items = [item for folder in folders for item in folder.get("configuration", ())]
    lines = [_configuration_line(item) for item in items[:MAX_CONFIGURATION_LINES]]
    rest = len(items) - len(lines)
    return [*lines, f"… and {rest} more: agui-gateway trust DIR --dry-run lists all"] if rest > 0 else lines


def _configuration_line(item: dict[str, str]) -> str:
    location = " ".join(part for part in (item.get("file"), item.get("key")) if part)
    return f"{item.get('kind', ''):<12} {location}: {item.get('text', '')}"


def _is_about_trust(interrupt: Interrupt) -> bool:
    return interrupt.get("reason") == TRUST_REASON


def _schema_of(value: Any) -> dict[str, Any]:
    """The JSON Schema of the value's type, so that an edited value keeps it."""
    kinds = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    return {"type": kinds[type(value)]} if type(value) in kinds else {}


def _resolved(interrupt: Interrupt, payload: Any = None) -> Entry:
    entry = {"interruptId": interrupt["id"], "status": "resolved"}
    return entry if payload is None else {**entry, "payload": payload}


def _cancelled(interrupt: Interrupt) -> Entry:
    return {"interruptId": interrupt["id"], "status": "cancelled"}
