"""Plans and live output as AG-UI activities: shown once in a turn, then patched.

In: a plan's entries, or pieces of a command's output. Out: `ActivitySnapshot` and `ActivityDelta`
(https://docs.ag-ui.com/concepts/events). Output is a list of pieces, because JSON Patch can append to a list but not to
a text. The activity has all of it; of the text, which serves as a tool's result, the end is kept.
"""

from __future__ import annotations

from typing import Any

from gateway.events import ActivityDelta, ActivitySnapshot, Event
from gateway.json_patch import diff
from gateway.wire.fields import items, present, text

OUTPUT_MAX_CHARS = 200_000

Content = dict[str, Any]


class Plans:
    """The plans of an agent or a subagent in one turn, by the agent's plan ids; the plan without a name has the id ``.
    In the next turn a plan is a new activity, at the place where the user reads now."""

    def __init__(self, prefix: str, subagent: str | None) -> None:
        self._prefix = prefix
        self._subagent = subagent
        self._contents: dict[str, Content] = {}

    def content(self, plan_id: str) -> Content:
        """The plan as it was shown last; empty if it was not."""
        return self._contents.get(plan_id, {})

    def show_entries(self, entries: Any) -> list[Event]:
        """The plan without a name: a list of `content priority status`, as ACP has them."""
        return self.show("", {"entries": plan_entries(entries)})

    def show(self, plan_id: str, content: Content) -> list[Event]:
        activity_id = f"{self._prefix}:plan:{plan_id}" if plan_id else f"{self._prefix}:plan"
        before = self._contents.get(plan_id)
        self._contents[plan_id] = content
        if before is None:
            return [ActivitySnapshot(activity_id, "plan", content, subagent=self._subagent)]
        patch = diff(before, content, into_lists=True)
        return [ActivityDelta(activity_id, "plan", patch, subagent=self._subagent)] if patch else []


def plan_entries(entries: Any) -> list[Content]:
    keys = ("content", "priority", "status")
    return [present({key: text(entry.get(key)) for key in keys}) for entry in items(entries)]


class LiveOutput:
    """One activity whose `output` grows; `fields` is what else it shows."""

    def __init__(self, activity_id: str, activity_type: str, subagent: str | None, fields: Content) -> None:
        self._id = activity_id
        self._type = activity_type
        self._subagent = subagent
        self.fields = fields
        self._is_shown = False
        self._pieces: list[str] = []
        self._chars = 0
        self._dropped_chars = 0

    @property
    def text(self) -> str:
        """The output; its beginning is left out if it is long."""
        end = "".join(self._pieces)
        return f"[the first {self._dropped_chars} characters are left out]\n{end}" if self._dropped_chars else end

    def set_fields(self, **fields: Any) -> list[Event]:
        """New values beside the output; None leaves a field as it is."""
        before = self.fields
        self.fields = before | present(fields)
        return self._show(diff(before, self.fields))

    def append(self, piece: str) -> list[Event]:
        if not piece:
            return self._show([])
        self._keep(piece)
        return self._show([{"op": "add", "path": "/output/-", "value": piece}])

    def replace(self, output: str) -> list[Event]:
        """The whole output. Only what is new is sent, if the output begins with what is shown."""
        known = "".join(self._pieces)
        if self._is_shown and not self._dropped_chars and output.startswith(known):
            return self.append(output[len(known) :])
        self._pieces = []
        self._chars = 0
        self._dropped_chars = 0
        self._keep(output)
        return self._show([{"op": "replace", "path": "/output", "value": [output] if output else []}])

    def _show(self, patch: list[dict[str, Any]]) -> list[Event]:
        if not self._is_shown:
            self._is_shown = True
            content = {**self.fields, "output": [piece for piece in self._pieces if piece]}
            return [ActivitySnapshot(self._id, self._type, content, subagent=self._subagent)]
        return [ActivityDelta(self._id, self._type, patch, subagent=self._subagent)] if patch else []

    def _keep(self, piece: str) -> None:
        self._pieces.append(piece)
        self._chars += len(piece)
        if self._chars > 2 * OUTPUT_MAX_CHARS:  # joined seldom: a cut at every piece would copy the text every time
            joined = "".join(self._pieces)
            self._dropped_chars += len(joined) - OUTPUT_MAX_CHARS
            self._pieces = [joined[-OUTPUT_MAX_CHARS:]]
            self._chars = OUTPUT_MAX_CHARS


def tool_output(tool_call_id: str, subagent: str | None) -> LiveOutput:
    """What a tool prints while it runs."""
    return LiveOutput(f"{tool_call_id}:output", "tool_output", subagent, {"toolCallId": tool_call_id})
