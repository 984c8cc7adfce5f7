"""Who speaks: the agent itself, or one of its subagents, each with the message that is under way.

In: the `agentId` of an event, and the ids of messages and thoughts. Out: ids that are unique in the thread. A text that
goes on after something came between is told under a new id: a client shows it where it goes on.
"""

from __future__ import annotations

from collections.abc import Callable

from gateway.events import Event, SubagentError, SubagentFinished, SubagentStarted


class Lane:
    __slots__ = ("_own", "_streamed", "_times", "key", "shown", "subagent")

    def __init__(self, own: Callable[[str], str], subagent: str | None, streamed: set[str]) -> None:
        self._own, self.subagent, self._streamed = own, subagent, streamed
        self.key: str | None = None
        """The agent's id of what is being told."""
        self.shown = ""
        """Ours."""
        self._times: dict[str, int] = {}

    def goes_on(self, agents_id: str) -> str:
        """Our id for the message or thought."""
        if self.key != agents_id:
            times = self._times[agents_id] = self._times.get(agents_id, 0) + 1
            self.key = agents_id
            self.shown = self._own(agents_id if times == 1 else f"{agents_id}.{times}")
            self._streamed.add(agents_id)
        return self.shown

    def broken_off(self) -> None:
        self.key = None


class Lanes:
    def __init__(self, own: Callable[[str], str]) -> None:
        self._own = own
        self.streamed: set[str] = set()
        """Messages and thoughts that came in deltas, and need not be told when they come whole."""
        self.main = Lane(own, None, self.streamed)
        self._of: dict[str, Lane] = {}
        self._names: dict[str, str] = {}
        self._times: dict[str, int] = {}

    def begin(self) -> None:
        """A new turn. A subagent that goes on in it is one that starts in it: runs know no others."""
        self.streamed = set()
        self.main = Lane(self._own, None, self.streamed)
        self._of, self._times = {}, {}

    def broken_off(self) -> None:
        for lane in (self.main, *self._of.values()):
            lane.broken_off()

    def knows(self, agent_id: object) -> bool:
        return not isinstance(agent_id, str) or agent_id in self._of

    def find(self, agent_id: object) -> tuple[Lane, list[Event]]:
        """The lane, and the start of a subagent that nobody announced."""
        if not isinstance(agent_id, str) or not agent_id:
            return self.main, []
        lane = self._of.get(agent_id)
        return (lane, []) if lane is not None else self.open(agent_id)

    def open(
        self,
        agent_id: str,
        name: str | None = None,
        about: str | None = None,
        parent: str | None = None,
        call: str | None = None,
    ) -> tuple[Lane, list[Event]]:
        if (known := self._of.get(agent_id)) is not None:
            return known, []
        times = self._times[agent_id] = self._times.get(agent_id, 0) + 1
        subagent = self._own(agent_id if times == 1 else f"{agent_id}.{times}")
        name = self._names[agent_id] = name or self._names.get(agent_id, "subagent")
        lane = self._of[agent_id] = Lane(self._own, subagent, self.streamed)
        above = self._of.get(parent or "")
        start = SubagentStarted(subagent, name, about, above.subagent if above else None, call)
        return lane, [start]

    def close(self, agent_id: object, error: str | None = None) -> list[Event]:
        lane = self._of.pop(agent_id, None) if isinstance(agent_id, str) else None
        if lane is None or lane.subagent is None:
            return []
        return [SubagentFinished(lane.subagent) if error is None else SubagentError(lane.subagent, error)]
