"""Approval requests: options → AG-UI's `responseSchema`; the user's answer, or the run's policy → a decision.

In: the options that an agent offers, and an `Answer` or a policy. Out: a JSON Schema for the client, and a `Decision`
for the dialect, which writes it in its agent's format. Never: a yes that was not clearly given. This rule is here and
nowhere else: `Approval.decide` allows only a resolved answer that names an allowing option of this request, or that
says `"approved": true`, and that nothing else in the answer contradicts.

The answer is an object of AG-UI's interrupt convention (https://docs.ag-ui.com/concepts/interrupts): `optionId` or
`approved`; with them `editedArgs` and a text for the agent where the request takes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gateway.turn import Answer, Approvals
from gateway.wire.fields import non_empty, obj

Schema = dict[str, Any]

ALLOW_ONCE = "allow_once"
ALLOW_ALWAYS = "allow_always"
REJECT_ONCE = "reject_once"
REJECT_ALWAYS = "reject_always"
"""Kinds of options, by ACP's names (https://agentclientprotocol.com/protocol/tool-calls#requesting-permission)."""

ALLOWING = (ALLOW_ONCE, ALLOW_ALWAYS)
REJECTING = (REJECT_ONCE, REJECT_ALWAYS)
PLAIN_ANSWER = "A plain yes or no, instead of an option."
FEEDBACK_SCHEMA: Schema = {
    "type": "string",
    "title": "Feedback",
    "description": "What the agent receives with a denial.",
}


@dataclass(frozen=True, slots=True)
class Option:
    """One way to answer an approval request."""

    id: str
    label: str | None = None
    """What people read; None: the id."""
    kind: str | None = None
    """One of the four kinds. Any other is offered and sent, but never counts as a yes."""
    value: Any = None
    """What the agent is sent for it, where that is not its id."""

    def to_json(self) -> dict[str, Any]:
        """The option as interrupts carry it in their metadata."""
        named = {"optionId": self.id, "name": self.label, "kind": self.kind}
        return {key: value for key, value in named.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Decision:
    """What was decided. A dialect whose agent takes option ids sends `option`; any other looks at `is_allowed`."""

    is_allowed: bool = False
    """A clear yes."""
    is_rejected: bool = False
    """A clear no. Neither of both: the answer is unclear, and approves of nothing."""
    is_cancelled: bool = False
    """The user gave no answer."""
    option: Option | None = None
    """The option that the answer names, or the one that its yes or no means. None: no option says it."""
    edited_args: dict[str, Any] | None = None
    """Arguments to run with instead of the agent's own. Only with a yes."""
    feedback: str | None = None
    """The user's text for the agent."""


@dataclass(frozen=True, slots=True)
class Approval:
    """One approval request: the options, and what else an answer may carry. Without options it is a yes-or-no
    question."""

    options: Sequence[Option] = ()
    plain_allow: Sequence[str] | None = None
    """The options that a plain yes may mean, by id, the best first. None: the first that allows once; if there is none,
    the only one that allows always."""
    plain_reject: Sequence[str] | None = None
    """The options that a plain no may mean. None: the first that rejects once."""
    allows_without_option: bool = False
    """The agent takes a plain yes that names no option. Otherwise a yes that no option says is none."""
    edits: Schema | None = None
    """The schema of `editedArgs`. None: the agent cannot run changed arguments, so an answer that brings some is a no:
    to run the old ones would be worse than to refuse."""
    editable: frozenset[str] | None = None
    """With `edits`: the names of the call's own arguments. An answer may change these and leave some out. One that adds
    another is a no: the agent may have parameters that loosen what the user was shown. None: any name."""
    feedback: Schema | None = None
    """The schema of the user's text for the agent. None: the agent takes none."""

    # -- for the client

    def response_schema(
        self, *, approved_description: str | None = PLAIN_ANSWER, has_titles: bool = True, forbids_edits: bool = True
    ) -> Schema:
        """The JSON Schema of an answer. `forbids_edits`: the schema itself refuses `editedArgs` if `edits` is None."""
        properties: Schema = {"optionId": self._choice(has_titles)} if self.options else {}
        properties["approved"] = {"type": "boolean", "title": "Approve"}
        if approved_description is not None:
            properties["approved"]["description"] = approved_description
        if self.feedback is not None:
            properties["feedback"] = self.feedback
        if self.edits is not None:
            names = {} if self.editable is None else {"propertyNames": {"enum": sorted(self.editable)}}
            properties["editedArgs"] = self.edits | names
        schema: Schema = {"type": "object", "properties": properties}
        if not self.options:
            return schema | {"required": ["approved"]}
        schema["anyOf"] = [{"required": ["optionId"]}, {"required": ["approved"]}]
        return schema | {"not": {"required": ["editedArgs"]}} if forbids_edits and self.edits is None else schema

    def options_json(self) -> list[dict[str, Any]]:
        return [option.to_json() for option in self.options]

    def _choice(self, has_titles: bool) -> Schema:
        choice: Schema = {"type": "string", "enum": [option.id for option in self.options]}
        if has_titles:
            titles = [option.id if option.label is None else option.label for option in self.options]
            pairs = zip(self.options, titles, strict=True)
            choice["oneOf"] = [{"const": option.id, "title": title} for option, title in pairs]
        return choice

    # -- for the agent

    def decide(self, answer: Answer) -> Decision:
        """What the user's answer means. Only a clear yes is one."""
        if answer.status != "resolved":
            return Decision(is_cancelled=True)
        payload = obj(answer.payload)
        feedback = non_empty(payload.get("feedback"))
        if "editedArgs" in payload and not self._takes_edits(payload["editedArgs"]):
            return self._reject(feedback)
        if "optionId" in payload:
            return self._decide_by_option(payload, feedback)
        match payload.get("approved"):
            case True:
                return self._allow(self._plain_option(allow=True), payload, feedback)
            case False:
                return self._reject(feedback)
            case _:
                return Decision(feedback=feedback)

    def _takes_edits(self, edited: Any) -> bool:
        if self.edits is None or not isinstance(edited, dict):
            return False
        return self.editable is None or edited.keys() <= self.editable

    def decide_by_policy(self, policy: Approvals) -> Decision | None:
        """What the run's policy decides without the user. None: the user is asked."""
        if policy == "prompt":
            return None
        return self._allow(self._plain_option(allow=True), {}, None) if policy == "auto" else self._reject(None)

    def _decide_by_option(self, payload: dict[str, Any], feedback: str | None) -> Decision:
        chosen = next((option for option in self.options if option.id == payload["optionId"]), None)
        if chosen is None:
            return Decision(feedback=feedback)
        if chosen.kind in REJECTING:
            return Decision(is_rejected=True, option=chosen, feedback=feedback)
        if payload.get("approved", True) is not True:  # it names an option and takes it back
            return Decision(is_rejected=payload["approved"] is False, feedback=feedback)
        if chosen.kind in ALLOWING:
            return self._allow(chosen, payload, feedback)
        return Decision(option=chosen, feedback=feedback)

    def _allow(self, option: Option | None, payload: dict[str, Any], feedback: str | None) -> Decision:
        if option is None and self.options and not self.allows_without_option:
            return Decision(feedback=feedback)
        return Decision(is_allowed=True, option=option, edited_args=payload.get("editedArgs"), feedback=feedback)

    def _reject(self, feedback: str | None) -> Decision:
        return Decision(is_rejected=True, option=self._plain_option(allow=False), feedback=feedback)

    def _plain_option(self, *, allow: bool) -> Option | None:
        wanted = self.plain_allow if allow else self.plain_reject
        if wanted is not None:
            by_id = {option.id: option for option in self.options}
            return next((by_id[option_id] for option_id in wanted if option_id in by_id), None)
        once = next((one for one in self.options if one.kind == (ALLOW_ONCE if allow else REJECT_ONCE)), None)
        always = [one for one in self.options if one.kind == ALLOW_ALWAYS] if allow and once is None else []
        return always[0] if len(always) == 1 else once
