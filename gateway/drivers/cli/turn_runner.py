"""The turns of one session: prompts the agent, delivers its events to the turn, and ends the turn.

In: turns of a run, and events of the `SessionProcess`. Out: a `CliTurn`. An agent may have lost the session and report
it only when it is prompted: then the turn is prompted once more, with the whole conversation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from anyio import to_thread

from gateway.background import Tasks
from gateway.drivers.base import Opening
from gateway.drivers.cli.command import CommandOptions, media_arguments, takes_skill_folders, takes_skill_names
from gateway.drivers.cli.content import flatten_block, read_prompt_content
from gateway.drivers.cli.launch import Launcher
from gateway.drivers.cli.session_process import SESSION_NOT_FOUND, ConnectionPool, SessionProcess
from gateway.drivers.cli.temp_files import TempFiles
from gateway.drivers.cli.turn import CliTurn
from gateway.drivers.prompt_builder import PromptBuilder
from gateway.drivers.skills import Skill, add_to_prompt, find_skills, named
from gateway.drivers.turn_base import TurnSlot, split_at_end
from gateway.errors import AgentFault
from gateway.events import Event, TurnEnded, TurnFailed, UserMessageAccepted
from gateway.turn import Answer, Turn
from gateway.wire.dialects import Dialect, Prompt


class TurnRunner:
    """It is the `EventReceiver` of its process, and the `TurnControl` of its turns."""

    def __init__(self, launcher: Launcher, pool: ConnectionPool, opening: Opening, tasks: Tasks) -> None:
        self._tasks = tasks
        self._cli = launcher.cli
        self._opening = opening
        self._skill_mention = launcher.definition.skill_mention
        forgets = launcher.cli.process == "turn" and launcher.cli.flags.resume is None
        self._prompts = PromptBuilder(
            opening.known, serves_tools=launcher.dialect.can_call_client_tools, forgets=forgets
        )
        self._prompt_content = read_prompt_content(launcher.definition)
        self._files = TempFiles(opening.confinement.exchange)
        self.process = SessionProcess(launcher, pool, opening, self._files.save, self, self._prompts.forget)
        self._slot: TurnSlot[CliTurn] = TurnSlot()
        self._retry: tuple[Turn, CommandOptions] | None = None
        """What is prompted again if the agent has lost the session; None: it was already."""

    @property
    def _dialect(self) -> Dialect:
        return self.process.dialect

    async def start(self, turn: Turn, options: CommandOptions) -> CliTurn:
        if self.process.offer_tools(turn.tools):
            await self.process.ensure_ready(options)  # before the prompt is built: the new session may know nothing
        blocks, warnings = self._prompts.build(turn, self._prompt_content)
        live = CliTurn(self, [*warnings, *self._slot.take_late()])
        self._retry = (turn, options)
        await self._prompt(live, options, blocks)
        return live

    async def _prompt(self, live: CliTurn, options: CommandOptions, blocks: Sequence[dict[str, Any]]) -> None:
        flat_blocks = [flatten_block(block) for block in blocks]
        if in_prompt := [skill for skill in options.skills if not self._takes_skill(skill)]:
            flat_blocks = await to_thread.run_sync(add_to_prompt, flat_blocks, in_prompt, self._skill_mention)
        files = await self._save_media(flat_blocks)
        await self.process.ensure_ready(options, media_arguments(self._cli, files.values()))
        prompt = Prompt(
            flat_blocks,
            self._prompts.new_key(),
            model=options.model,
            mode=options.mode,
            thinking=options.thinking,
            approvals=options.approvals,
            output_schema=options.output_schema,
            max_turns=options.max_turns,
            skills=tuple(skill.name for skill in named(options.skills)),
            files=files,
            tools=self.process.client_tools,
        )
        self._slot.set(live)
        self._dialect.prompt(prompt)
        self.process.prompt_sent()

    def find_skills(self, entries: Sequence[str]) -> tuple[Skill, ...]:
        """Blocks. In a sandbox the agent sees copies: the directories may be hidden there."""
        copy = None if self._opening.confinement.exchange is None else self._files.copy_folder
        return find_skills(entries, self._opening.cwd, self._opening.home, copy)

    def _takes_skill(self, skill: Skill) -> bool:
        """The agent has a way of its own to load or to use it."""
        if skill.folder is None:
            return self._dialect.can_use_skills or takes_skill_names(self._cli)
        return self._dialect.skill_scope is not None or takes_skill_folders(self._cli)

    async def _save_media(self, blocks: list[dict[str, Any]]) -> dict[int, str]:
        """Index of a block → its file, where the agent takes media by files."""
        if self._cli.flags.media is None and not self._cli.params.get("files"):
            return {}
        return await to_thread.run_sync(self._files.save_media, blocks)

    async def aclose(self) -> None:
        await self.process.aclose()
        await to_thread.run_sync(self._files.remove)

    # -- as its process sees it

    def deliver(self, events: Sequence[Event]) -> None:
        turn = self._slot.turn
        if turn is None or not turn.takes_events:
            self._slot.keep_late(events)
        elif self._dialect.is_busy:
            turn.put(events)
        else:
            self._end_turn(turn, *split_at_end(events))

    def _end_turn(
        self,
        turn: CliTurn,
        events: Sequence[Event],
        end: TurnEnded | TurnFailed | None,
        late: Sequence[Event],
    ) -> None:
        is_lost = isinstance(end, TurnFailed) and end.code == SESSION_NOT_FOUND
        if is_lost and not events and self._can_retry(turn):
            self._tasks.start_soon(self._prompt_again, turn)
            return
        turn.put(events)
        self._slot.keep_late(late)
        if end is not None and self._cli.drain_seconds:
            self._tasks.start_soon(turn.finish_late, end, self._cli.drain_seconds)
        elif end is not None:
            turn.finish(end)

    def _can_retry(self, turn: CliTurn) -> bool:
        is_cancelled = self._dialect.is_cancelled
        return self._retry is not None and not turn.has_output and not is_cancelled and self.process.can_replace_session

    async def _prompt_again(self, live: CliTurn) -> None:
        assert self._retry is not None
        turn, options = self._retry
        self._retry = None
        self.process.forget()
        try:
            await self.process.release()
            blocks, warnings = self._prompts.build(turn, self._prompt_content)
            live.put(warnings)
            await self._prompt(live, options, blocks)
        except AgentFault as exc:
            live.fail(exc)

    def process_ended(self, last_events: Sequence[Event], error: AgentFault) -> None:
        turn = self._slot.turn
        self.deliver(last_events)
        self._dialect.is_ready = False
        if turn is not None and not turn.is_over and self._slot.turn is turn and self._dialect.is_busy:
            self._dialect.is_busy = False
            turn.fail(error)

    async def wait_for_room(self) -> None:
        await self._slot.wait_for_room()

    # -- as its turns see it

    def answer(self, interrupt_id: str, answer: Answer) -> None:
        if answer.status == "cancelled":
            self._prompts.mark_unanswered(interrupt_id)
        self._dialect.answer(interrupt_id, answer)
        self.process.flush()

    def steer(self, message_id: str, text: str) -> bool:
        if not self._dialect.is_busy or self._dialect.is_cancelled or not self.process.is_connected:
            return False
        is_taken = self._dialect.steer(message_id, text)
        self.process.flush()
        return is_taken

    def add_accepted(self, message: UserMessageAccepted) -> None:
        self._prompts.add_accepted([message])

    def cancel(self) -> None:
        self.process.cancel()

    async def abandon(self) -> None:
        self.process.abandon()

    def turn_closed(self, turn: CliTurn) -> None:
        self._slot.clear(turn)
