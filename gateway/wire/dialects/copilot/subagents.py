"""Which agent an event comes from, the main agent or a subagent, and which of its texts is in progress.

In: the `agentId` of an event, and the agent's ids of messages and thoughts. Out: ids that are unique in the thread, and
the starts and ends of subagents. A text that continues after another event gets a new id: the client shows the rest
where it continues.
"""

from __future__ import annotations

from collections.abc import Callable

from gateway.events import Event, SubagentError, SubagentFinished, SubagentStarted
from gateway.wire.ids import UniqueIds
from gateway.wire.text_parts import Part, TextParts


class AgentStream:
    """The text and reasoning of the main agent (`subagent` is None) or of one subagent. `streamed` collects the
    agent's ids of what came."""

    def __init__(self, qualify_id: Callable[[str], str], subagent: str | None, streamed: set[str]) -> None:
        self.subagent = subagent
        self._ids = UniqueIds(qualify_id)
        self._streamed = streamed
        self.parts = TextParts(self._make_id, subagent, sends_ends=False)

    def _make_id(self, part: Part) -> str:
        self._streamed.add(str(part.key))
        return self._ids.new(str(part.key))


class AgentStreams:
    """The agents of one turn."""

    def __init__(self, qualify_id: Callable[[str], str]) -> None:
        self._qualify_id = qualify_id
        self._subagent_names: dict[str, str] = {}
        self.start_turn()

    def start_turn(self) -> None:
        """A subagent that continues in the new turn starts again in it: each run reports only its own subagents."""
        self.streamed: set[str] = set()
        """Messages and thoughts that came in deltas; their whole text, which follows, is not sent again."""
        self.main = AgentStream(self._qualify_id, None, self.streamed)
        self._subagents: dict[str, AgentStream] = {}
        self._subagent_ids = UniqueIds(self._qualify_id)

    def break_off(self) -> None:
        """An interrupt ends the run: no text in progress continues under its id."""
        for stream in (self.main, *self._subagents.values()):
            stream.parts.break_off()

    def is_known(self, agent_id: object) -> bool:
        return not isinstance(agent_id, str) or agent_id in self._subagents

    def find(self, agent_id: object) -> tuple[AgentStream, list[Event]]:
        """The stream of an agent, and the start of a subagent that no event announced."""
        if not isinstance(agent_id, str) or not agent_id:
            return self.main, []
        started = self.start_subagent(agent_id)
        return self._subagents[agent_id], started

    def start_subagent(
        self,
        agent_id: str,
        name: str | None = None,
        description: str | None = None,
        parent_id: str | None = None,
        tool_call_id: str | None = None,
    ) -> list[Event]:
        if agent_id in self._subagents:
            return []
        subagent = self._subagent_ids.new(agent_id)
        name = self._subagent_names[agent_id] = name or self._subagent_names.get(agent_id, "subagent")
        parent = self._subagents.get(parent_id or "")
        self._subagents[agent_id] = AgentStream(self._qualify_id, subagent, self.streamed)
        return [SubagentStarted(subagent, name, description, parent.subagent if parent else None, tool_call_id)]

    def end_subagent(self, agent_id: object, error: str | None = None) -> list[Event]:
        stream = self._subagents.pop(agent_id, None) if isinstance(agent_id, str) else None
        if stream is None or stream.subagent is None:
            return []
        return [SubagentFinished(stream.subagent) if error is None else SubagentError(stream.subagent, error)]
