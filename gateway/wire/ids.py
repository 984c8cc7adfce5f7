"""AG-UI ids for what an agent names by ids of its own.

In: the agent's id of a message or a tool call. Out: an id that the turn has not used before. Agents count from one in
every turn or every answer, and AG-UI's ids are unique in the thread.
"""

from __future__ import annotations

from collections.abc import Callable


class UniqueIds:
    """`make_id` makes an agent's id unique in the thread (`Dialect.own`). An id that comes again gets a number:
    `x`, `x.2`, `x.3`."""

    def __init__(self, make_id: Callable[[str], str]) -> None:
        self._make_id = make_id
        self._used: set[str] = set()

    def new(self, agent_id: str) -> str:
        unique = self._make_id(agent_id)
        number = 1
        while unique in self._used:
            number += 1
            unique = self._make_id(f"{agent_id}.{number}")
        self._used.add(unique)
        return unique

    def clear(self) -> None:
        """A new turn, in which `make_id` makes other ids."""
        self._used.clear()
