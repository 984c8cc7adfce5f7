"""The question whether a folder is trusted, as a turn: it comes before any process of the agent starts.

In: the folders without a decision, and what begins the agent's own turn. Out: an interrupt with the
project's own agent configuration; after the answer the events of the agent's turn. Like every turn it can be parked,
cancelled and expire. Never: a start without a clear answer.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from uuid import uuid4

import anyio
from anyio import CancelScope

from gateway.catalog.definition import AgentDefinition
from gateway.drivers import LiveTurn
from gateway.errors import Refused
from gateway.events import Event, Interrupt, InterruptRequested, TurnEnded
from gateway.identity import ThreadKey
from gateway.runs.trust import WorkspaceTrust
from gateway.trust.configuration import ConfigurationItem
from gateway.turn import Answer

REASON = "gateway:workspace_trust"
ID_PREFIX = "trust-"
THIS_RUN, ALWAYS, NO = "trust_once", "trust_always", "reject_once"
ANSWERS = (THIS_RUN, ALWAYS, NO)
KIND_NAMES = {
    "hook": ("hook", "hooks"),
    "mcp-server": ("MCP server", "MCP servers"),
    "plugin": ("plugin", "plugins"),
    "helper": ("helper command", "helper commands"),
    "base-url": ("address", "addresses"),
    "environment": ("environment variable", "environment variables"),
    "permission": ("permission setting", "permission settings"),
    "command": ("command or skill", "commands and skills"),
    "setting": ("other setting", "other settings"),
}
"""Kind of an item → its name for one and for several. Other kinds are files that could not be read."""

BeginTurn = Callable[[], Awaitable[LiveTurn]]
CloseSession = Callable[[], Awaitable[object]]


async def ask_about_folders(
    trust: WorkspaceTrust,
    definition: AgentDefinition,
    thread: ThreadKey,
    folders: Sequence[Path],
    begin: BeginTurn,
    close_session: CloseSession,
) -> LiveTurn:
    """`begin`: begins the agent's turn, with the trust that is decided then. `close_session`: after a turn that was
    trusted alone."""
    found = await trust.find_configuration(definition, folders)

    async def check_unchanged() -> None:
        if await trust.find_configuration(definition, folders) != found:
            detail = "the configuration of the folder has changed since you were asked: send the message again"
            raise Refused(detail, code="WORKSPACE_CHANGED", folder=str(folders[0]))

    return TrustQuestion(
        trust_interrupt(definition, found), trust, thread, folders, check_unchanged, begin, close_session
    )


class TrustQuestion:
    """A `LiveTurn`: the question, then the agent's turn."""

    def __init__(
        self,
        interrupt: Interrupt,
        trust: WorkspaceTrust,
        thread: ThreadKey,
        folders: Sequence[Path],
        check_unchanged: Callable[[], Awaitable[None]],
        begin: BeginTurn,
        close_session: CloseSession,
    ) -> None:
        self._interrupt = interrupt
        self._trust = trust
        self._thread = thread
        self._folders = folders
        self._check_unchanged = check_unchanged
        self._begin = begin
        self._close_session = close_session
        self._batches: list[list[Event]] = [[InterruptRequested((interrupt,))]]
        self._live: LiveTurn | None = None
        self._opening = CancelScope()
        self._answered = anyio.Event()
        self._is_trusted_once = False

    async def next(self) -> list[Event]:
        if self._live is None and not self._batches:
            await self._answered.wait()
        if self._batches:
            return self._batches.pop(0)
        return [] if self._live is None else await self._live.next()

    async def answer(self, answers: Mapping[str, Answer]) -> None:
        if self._live is not None:
            return await self._live.answer(answers)
        match read_answer(answers.get(self._interrupt.id)):
            case None:
                return self._end()
            case "trust_once":
                await self._check_unchanged()
                self._trust.trust_run(self._thread, self._folders)
                self._is_trusted_once = True
            case "trust_always":
                await self._check_unchanged()
                await self._trust.trust_always(self._thread, self._folders)
            case _:
                self._trust.decline(self._thread, self._folders)
        return await self._open()

    async def _open(self) -> None:
        live: LiveTurn | None = None
        with self._opening:
            live = await self._begin()
        if live is None:  # cancelled meanwhile
            return self._end()
        self._live = live
        self._answered.set()
        return None

    async def steer(self, message_id: str, text: str) -> bool:
        return False if self._live is None else await self._live.steer(message_id, text)

    async def cancel(self) -> None:
        if self._live is not None:
            return await self._live.cancel()
        self._opening.cancel()
        self._end()
        return None

    async def aclose(self) -> None:
        self._answered.set()
        if self._live is not None:
            await self._live.aclose()
        if self._is_trusted_once:
            self._is_trusted_once = False
            self._trust.end_run(self._thread)
            await self._close_session()

    def _end(self) -> None:
        if not self._answered.is_set():
            self._batches = [[TurnEnded("cancelled")]]
            self._answered.set()


def read_answer(answer: Answer | None) -> str | None:
    """None: there is no clear answer, so nothing starts."""
    if answer is None or answer.status != "resolved" or not isinstance(answer.payload, dict):
        return None
    option = answer.payload.get("optionId")
    return option if option in ANSWERS and len(answer.payload) == 1 else None


def trusts_folder(answer: Answer) -> bool:
    """The entry of a `resume` answers a question about a folder with yes."""
    return answer.interrupt_id.startswith(ID_PREFIX) and read_answer(answer) in (THIS_RUN, ALWAYS)


def trust_interrupt(definition: AgentDefinition, found: Mapping[Path, Sequence[ConfigurationItem]]) -> Interrupt:
    refuses = definition.trust.untrusted_start == "never" or (
        definition.trust.untrusted_start == "clean" and any(found.values())
    )
    labels = {
        THIS_RUN: "Trust for this run",
        ALWAYS: "Trust always",
        NO: "Do not trust: do not start the agent" if refuses else "Do not trust: start without the project's settings",
    }
    choices = [{"const": option, "title": labels[option]} for option in ANSWERS]
    field = {"type": "string", "title": "Trust this folder?", "enum": list(ANSWERS), "oneOf": choices}
    kinds = {THIS_RUN: "allow_once", ALWAYS: "allow_always", NO: "reject_once"}
    folders = [
        {"folder": str(folder), "configuration": [item.to_json() for item in items]} for folder, items in found.items()
    ]
    trust = {
        "agent": definition.id,
        "folders": folders,
        "untrustedStart": definition.trust.untrusted_start,
        "options": [{"optionId": option, "name": labels[option], "kind": kinds[option]} for option in ANSWERS],
    }
    return Interrupt(
        id=f"{ID_PREFIX}{uuid4().hex}",
        reason=REASON,
        message=_message(definition, found),
        response_schema={
            "type": "object",
            "properties": {"optionId": field},
            "required": ["optionId"],
            "additionalProperties": False,
        },
        metadata={"trust": trust},
    )


def _message(definition: AgentDefinition, found: Mapping[Path, Sequence[ConfigurationItem]]) -> str:
    name = definition.identity.name
    folders = " and ".join(str(folder) for folder in found)
    question = f"Do you trust {folders}? {name} has not been started there."
    items = [item for each in found.values() for item in each]
    if not any(definition.trust.configuration.patterns()):
        return f"{question} It is not known which files of a project it reads as its configuration."
    if not items:
        return f"{question} The folder holds no configuration for it now."
    return f"{question} If you trust the folder, its own configuration takes effect: {_count(items)}."


def _count(items: Sequence[ConfigurationItem]) -> str:
    counts = {kind: sum(item.kind == kind for item in items) for kind in KIND_NAMES}
    parts = [f"{count} {KIND_NAMES[kind][count != 1]}" for kind, count in counts.items() if count]
    if others := len(items) - sum(counts.values()):
        parts.append(f"{others} that could not be read")
    return ", ".join(parts)
