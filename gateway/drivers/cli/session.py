"""One thread's conversation with a command-line agent, over as many processes as it takes.

The dialect knows the conversation and stays; processes come and go. One that was started with other wishes than a run
has now is replaced, and the conversation goes on in the new one by the agent's own means of coming back.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Protocol
from uuid import uuid4

import anyio
from anyio import to_thread

from gateway.background import Tasks
from gateway.catalog import effort
from gateway.drivers.base import Opening
from gateway.drivers.cli.command import Added, Wanted, added, media_added, session_added
from gateway.drivers.cli.connection import Connection
from gateway.drivers.cli.content import plain, takes
from gateway.drivers.cli.controls import CliControls
from gateway.drivers.cli.launch import Launcher
from gateway.drivers.cli.temp_files import Files
from gateway.drivers.cli.turn import CliTurn, to_the_end
from gateway.drivers.prompt_builder import PromptBuilder
from gateway.errors import AgentFault
from gateway.events import Event, Layer, TurnEnded, TurnFailed, UserMessageAccepted
from gateway.turn import Answer, Options, Turn
from gateway.wire.dialects import Dialect, Prompt, SessionStart

log = logging.getLogger(__name__)

LATE_KEPT = 1000
"""Events that come between turns, kept for the next one."""
LOST = "SESSION_NOT_FOUND"


class ConnectionPool(Protocol):
    """Where a session gets its process from, and gives it back to."""

    async def take(self, cwd: Any, extra: Added) -> Connection: ...

    def give_back(self, link: Connection) -> None: ...


class CliSession:
    kept = True

    def __init__(self, launcher: Launcher, links: ConnectionPool, opening: Opening, tasks: Tasks) -> None:
        self._definition, self._cli, self._links = launcher.definition, launcher.cli, links
        self._opening, self._tasks = opening, tasks
        self.dialect: Dialect = launcher.dialect()
        self.dialect.session_id = None if opening.fork else opening.session_id
        self.tag = f"{uuid4().hex[:8]}"
        self._fork = opening.session_id if opening.fork else None
        self._spoken = opening.session_id is not None
        """There is something to come back to."""
        forgets = self._cli.process == "turn" and self._cli.flags.resume is None
        self._telling = PromptBuilder(opening.known, serves_tools=self.dialect.can_call_client_tools, forgets=forgets)
        self._tools = opening.tools if self.dialect.can_call_client_tools else ()
        """The client's own, as the newest run offers them."""
        self._takes = takes(launcher.definition)
        self._files = Files()
        self._link: Connection | None = None
        self._old: Connection | None = None
        self._began: tuple[Added, Any] | None = None
        self._late: list[Event] = []
        self._turn: CliTurn | None = None
        self._now: tuple[Turn, Wanted] | None = None
        self._changed = anyio.Event()
        self._closed = False
        self.settings: dict[str, str] = {}
        """`model`, `mode`: set between turns, and kept for those that do not say otherwise."""

    # -- as runs see it

    @property
    def id(self) -> str | None:
        return self.dialect.session_id

    @property
    def alive(self) -> bool:
        return not self._closed

    @property
    def session_layer(self) -> Layer:
        return self.dialect.session_layer

    @property
    def controls(self) -> CliControls:
        return CliControls(self, self._cli)

    async def start(self, turn: Turn) -> CliTurn:
        wanted = self._wanted(turn.options)
        if self._offers(turn):
            await self._ready(wanted, Added())  # first: a conversation that must begin anew is told anew
        blocks, warned = self._telling.blocks(turn, self._takes)
        live = CliTurn(self)
        live.put([*warned, *self._late])
        live.said, self._late = False, []
        self._now = (turn, wanted)
        await self._converse(live, wanted, [plain(block) for block in blocks])
        return live

    def _offers(self, turn: Turn) -> bool:
        """Other tools of the client's than before, to an agent that takes them only when a session begins."""
        before, self._tools = self._tools, tuple(turn.tools) if self.dialect.can_call_client_tools else ()
        return self._tools_at_begin and self._tools != before

    @property
    def _tools_at_begin(self) -> bool:
        return self._cli.params.get("tools") == "begin"

    async def establish(self) -> None:
        """So that an agent that cannot be started is known at once, and another way in is tried."""
        if self._cli.process != "turn":
            await self._ready(self._wanted(self._opening.options), Added())

    async def aclose(self) -> None:
        self._closed = True
        link = self._link
        if link is not None and link.alive and self._cli.process == "agent":
            self.dialect.release_session()
            self._flush()
        self._link = None
        if link is not None:
            link.detach(self)
            self._links.give_back(link)
            if self._cli.process != "agent":
                await link.aclose()
        await to_thread.run_sync(self._files.remove)

    # -- one turn

    async def _converse(self, live: CliTurn, wanted: Wanted, blocks: list[dict[str, Any]]) -> None:
        files: dict[int, str] = {}
        if self._cli.flags.media is not None or self._cli.params.get("files"):
            files = await to_thread.run_sync(self._files.save_media, blocks)
        await self._ready(wanted, media_added(self._cli, files.values()))
        prompt = Prompt(
            blocks,
            self._telling.key(),
            model=wanted.model,
            mode=wanted.mode,
            thinking=wanted.thinking,
            approvals=wanted.approvals,
            output_schema=wanted.output_schema,
            max_turns=wanted.max_turns,
            skills=wanted.skills,
            files=files,
            tools=self._tools,
        )
        self._turn = live
        self.dialect.prompt(prompt)
        self._spoken = True
        self._flush()
        if self._cli.process == "turn" and self._link is not None:
            self._link.close_input()

    def _wanted(self, options: Options) -> Wanted:
        wish = options.model or self.settings.get("model")
        known = next((model for model in self._definition.models if wish in (model.id, *model.aliases)), None)
        return Wanted(
            model=wish if known is None else known.argument or known.id,
            mode=options.mode or self.settings.get("mode"),
            approvals=options.approvals or "prompt",
            thinking=effort.native(self._definition, known, options),
            directories=tuple(str(folder) for folder in self._opening.additional_directories),
            mcp_servers=self._opening.mcp_servers,
            output_schema=options.output_schema,
            max_turns=options.max_turns,
            skills=options.skills or (),
        )

    # -- its process

    async def _ready(self, wanted: Wanted, media: Added) -> None:
        """There is a process with these wishes, and the dialect takes a prompt."""
        extra = await to_thread.run_sync(added, self._cli, wanted, self._files.save)
        begun = (extra, self._tools if self._tools_at_begin else ())
        if self._goes_on and begun == self._began:
            return
        await self._let_go()
        try:
            await self._begin(extra, media)
        except AgentFault as exc:
            if exc.code != LOST or not self._spoken or self._fork is not None:
                raise
            self._forget()
            await self._begin(extra, media)
        self._began = begun
        if self.dialect.has_lost_history:
            self._telling.forget()

    @property
    def _goes_on(self) -> bool:
        """The process takes another turn."""
        alive = self._link is not None and self._link.alive
        return alive and self.dialect.is_ready and self._cli.process != "turn"

    def _forget(self) -> None:
        """The conversation is gone at the agent: the next prompt tells it anew."""
        self.dialect.session_id, self._spoken = None, False
        self._telling.forget()

    async def _begin(self, extra: Added, media: Added) -> None:
        wanted, new_id = self._fork or (self.dialect.session_id if self._spoken else None), str(uuid4())
        fork = self._fork is not None
        which = session_added(self._cli, wanted, new_id, fork=fork)
        args = (*extra.args, *which.args, *media.args)
        self._link = link = await self._links.take(self._opening.cwd, Added(args, {**extra.env, **which.env}))
        if new_id in which.args:
            self.dialect.session_id = new_id
        await link.transport.subscribe(str(self._opening.cwd))
        connected = link.connected
        link.attach(self)
        opening = self._opening
        directories = tuple(str(folder) for folder in opening.additional_directories)
        params = {**self._cli.params, **link.secrets, "connected": connected}
        if self._cli.error_text_patterns:
            params["errors_as_text"] = self._cli.error_text_patterns
        self.dialect.start_session(
            SessionStart(
                str(opening.cwd), wanted, fork, directories, opening.mcp_servers, params, self.tag, self._tools
            )
        )
        self._flush()
        try:
            await self._until_ready()
        except BaseException:
            await self._let_go()
            raise
        self._fork = None

    async def _until_ready(self) -> None:
        seconds = self._cli.start_timeout
        with anyio.move_on_after(seconds):
            while not self.dialect.is_ready and self.dialect.failure is None:
                if self._link is None:
                    raise self._died
                await self._changed.wait()
            if self.dialect.failure is not None:
                raise self.dialect.failure
            return
        raise AgentFault(f"the agent was not ready within {seconds:g} seconds", code="AGENT_STALLED")

    async def _let_go(self) -> None:
        """Of the process that there is; a new one must not meet it at work on the same session."""
        link, self._link = self._link or self._old, None
        self._old = None
        if link is not None:
            link.detach(self)
            self._links.give_back(link)
            if self._cli.process != "agent":
                await link.aclose()

    # -- as its link sees it

    def heard(self, messages: Sequence[bytes]) -> None:
        events = self.dialect.read(messages)
        self._flush()
        self._deliver(events)
        self._wake()

    def _deliver(self, events: Sequence[Event]) -> None:
        turn = self._turn
        if turn is None or not turn.open:
            self._late = [*self._late, *events][-LATE_KEPT:]
        elif self.dialect.is_busy:
            turn.put(events)
        else:
            self._conclude(turn, *to_the_end(events))

    def _conclude(
        self, turn: CliTurn, own: Sequence[Event], last: TurnEnded | TurnFailed | None, after: Sequence[Event]
    ) -> None:
        if isinstance(last, TurnFailed) and last.code == LOST and self._resumed(turn, own):
            self._tasks.start_soon(self._again, turn)
            return
        turn.put(own)
        self._late = [*self._late, *after][-LATE_KEPT:]
        if last is not None and self._cli.drain_seconds:
            self._tasks.start_soon(turn.finish_late, last, self._cli.drain_seconds)
        elif last is not None:
            turn.finish(last)

    def _resumed(self, turn: CliTurn, own: Sequence[Event]) -> bool:
        return self._now is not None and not turn.said and not own and not self.dialect.is_cancelled and self._spoken

    async def _again(self, live: CliTurn) -> None:
        """The agent has lost the session, and says so only when prompted: the prompt tells it all."""
        assert self._now is not None
        turn, wanted = self._now
        self._now = None  # once
        self._forget()
        try:
            await self._let_go()
            blocks, warned = self._telling.blocks(turn, self._takes)
            live.put(warned)
            await self._converse(live, wanted, [plain(block) for block in blocks])
        except AgentFault as exc:
            live.fail(exc)

    async def room(self) -> None:
        if self._turn is not None:
            await self._turn.room()

    def lost(self, error: AgentFault | None) -> None:
        process = self._link.transport.process if self._link is not None else None
        link, self._link = self._link, None
        if link is None or process is None:
            return
        self._died = error or process.died()
        events = self.dialect.on_process_exit(process.exit_code, process.stderr_tail())
        turn = self._turn
        self._deliver(events)
        self.dialect.is_ready = False
        if turn is not None and not turn.over and self._turn is turn and self.dialect.is_busy:
            self.dialect.is_busy = False
            turn.fail(self._died)
        self._links.give_back(link)
        self._wake()

    _died = AgentFault("the agent is gone", code="AGENT_DIED")

    def _wake(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()

    def _flush(self) -> None:
        if self.dialect.outbox:
            messages, self.dialect.outbox = self.dialect.outbox, []
            if self._link is not None:
                self._link.send(messages)

    # -- as its turn sees it

    def answer(self, question_id: str, answer: Answer) -> None:
        if answer.status == "cancelled":
            self._telling.owed.add(question_id)
        self.dialect.answer(question_id, answer)
        self._flush()

    def steer(self, message_id: str, text: str) -> bool:
        if not self.dialect.is_busy or self.dialect.is_cancelled or self._link is None:
            return False
        taken = self.dialect.steer(message_id, text)
        self._flush()
        return taken

    def knows(self, words: UserMessageAccepted) -> None:
        self._telling.heard([words])

    def cancel(self) -> None:
        if not self.dialect.is_busy or self._link is None:
            return
        if self.dialect.cancel():
            self._flush()
        elif self._cli.process == "agent":
            log.info("%s has no way to stop a turn: it is left to end by itself", self._definition.id)
        elif self._cli.cancel == "SIGINT":
            self._link.transport.process.interrupt()
        else:
            self._link.transport.process.terminate()

    async def abandon(self) -> None:
        """The turn did not end when it was told to: its process is ended, without waiting for it."""
        link, self._link = self._link, None
        self.dialect.is_ready = self.dialect.is_busy = False
        if link is None:
            return
        link.detach(self)
        link.full = not self._cli.exclusive
        self._links.give_back(link)
        if self._cli.process != "agent":
            link.transport.process.kill()
            self._old = link

    def turn_closed(self, turn: CliTurn) -> None:
        if self._turn is turn:
            self._turn = None

    # -- as its controls see it

    async def do(self, action: str, params: dict[str, Any], seconds: float) -> Any:
        """One of the dialect's actions, on a process that is there for it."""
        await self._ready(self._wanted(self._opening.options), Added())
        ticket = self.dialect.start_action(action, params)
        self._flush()
        with anyio.move_on_after(seconds):
            while ticket not in self.dialect.action_results:
                if self._link is None:
                    raise self._died
                await self._changed.wait()
            reply = self.dialect.action_results.pop(ticket)
            if reply.error is not None:
                raise reply.error
            return reply.value
        raise AgentFault(f"the agent did not answer {action!r} within {seconds:g} seconds", code="AGENT_STALLED")
