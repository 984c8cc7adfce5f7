"""What a prompt wishes for, said to Hermes before the prompt itself: model, effort, images, files.

Each call waits for the answer to the one before; the prompt comes last. All settings are for the session: nothing here
changes the user's own config.yaml.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

from gateway.events import Event, TurnFailed, Warning
from gateway.wire.dialects.base import Prompt, SessionStart
from gateway.wire.dialects.hermes.attachments import as_file, attachments
from gateway.wire.dialects.hermes.errors import rpc_fault
from gateway.wire.dialects.hermes.rpc_calls import Then
from gateway.wire.dialects.hermes.session_state import model_list
from gateway.wire.dialects.hermes.sessions import Sessions
from gateway.wire.fields import items, non_empty, obj

EFFORTS = frozenset(("none", "minimal", "low", "medium", "high", "xhigh", "max", "ultra"))
"""Any other value of `reasoning` would change how the user's own terminal shows thoughts, for good."""
DASHES = ("-", "\u2012", "\u2013", "\u2014", "\u2015")
"""What Hermes takes for the beginning of a flag."""


class Wishes(Sessions):
    def __init__(self) -> None:
        super().__init__()
        self._steps: deque[Callable[[], None]] = deque()
        self._set: dict[str, str] = {}
        self._refs: list[str] = []
        self._left_out: list[Warning] = []
        self._providers: tuple[str, ...] | None = None
        self.provider: str | None = None
        """Who serves the session's model now."""
        self.submitted = False
        """The prompt is on its way."""

    def start_session(self, begin: SessionStart) -> None:
        super().start_session(begin)
        self._set.clear()
        self._steps.clear()

    def plan(self, prompt: Prompt) -> None:
        """What has to be said, in order; `step` begins."""
        self._steps.clear()
        self.submitted = False
        calls, self._left_out = attachments(prompt.blocks)
        self._refs = []
        if prompt.model is not None and prompt.model != self._set.get("model"):
            self._steps.append(partial(self._switch, prompt.model))
        effort = prompt.thinking.get("reasoning")
        if isinstance(effort, str) and effort in EFFORTS and effort != self._set.get("reasoning"):
            self._steps.append(partial(self._configure, "reasoning", effort, effort, self._wished))
        self._steps.extend(partial(self._attach, *call) for call in calls)
        self._steps.append(self._submit)

    def step(self) -> None:
        if self._steps and self.is_busy and not self.is_cancelled:
            self._steps.popleft()()

    def _submit(self) -> None:
        self.submitted = True
        words = "\n\n".join([self.turn.text, *self._refs]).strip()
        self.call("prompt.submit", {"session_id": self.live, "text": words}, self._accepted)

    def _accepted(self, result: Any, error: Any) -> list[Event]:
        left_out, self._left_out = self._left_out, []
        if error is None or not self.is_busy:
            return list(left_out)
        if self.is_cancelled:
            return self.end_turn("cancelled")
        fault = rpc_fault(error, "prompt.submit")
        self.is_busy = False
        return [TurnFailed(fault.detail, fault.code)]

    def _attach(self, method: str, params: dict[str, Any]) -> None:
        def attached(result: Any, error: Any) -> list[Event]:
            if error is not None and (other := as_file(method, params)) is not None:
                self._attach(*other)
                return []
            if (ref := non_empty(obj(result).get("ref_text"))) is not None:
                self._refs.append(ref)
            if error is not None:
                words = non_empty(obj(error).get("message")) or "no reason given"
                self._left_out.append(Warning("CONTENT_DROPPED", f"a part of the prompt was left out: {words}"))
            self.step()
            return []

        self.call(method, {"session_id": self.live, **params}, attached)

    # -- settings

    def _switch(self, model: str) -> None:
        """`provider:model` only where that is a provider's name: models have colons, too."""
        if ":" in model and self._providers is None:
            self.list_models(lambda _: self._switch(model))
        else:
            self._configure("model", model, self._as_argument(model), self._wished)

    def _wished(self, result: Any, error: Any) -> list[Event]:
        """A setting was made; one that cannot be had ends the turn before it begins."""
        if error is not None and self.is_busy and not self.is_cancelled:
            self.is_busy = False
            return [TurnFailed(rpc_fault(error, "config.set").detail, "MODEL_ERROR")]
        self.step()
        warning = non_empty(obj(result).get("warning"))
        return [Warning("MODEL", warning)] if warning else []

    def _as_argument(self, model: str) -> str:
        """For this session only; a part of the name is never read as a flag."""
        plain = " ".join(part for part in model.split() if not part.startswith(DASHES))
        for provider in self._providers or ():
            if plain.startswith(f"{provider}:"):
                # One that is set up in the config's `model` has no name that it would take.
                other = "" if provider == self.provider else f" --provider {provider}"
                return f"{plain.removeprefix(f'{provider}:')}{other} --session"
        return f"{plain} --session"

    def _configure(self, key: str, wish: str, value: str, then: Then) -> None:
        def configured(result: Any, error: Any) -> list[Event]:
            if error is None:
                self._set[key] = wish
            return then(result, error)

        params = {"session_id": self.live, "key": key, "value": value, "confirm_expensive_model": True}
        self.call("config.set", params, configured)

    # -- as actions

    def set_model(self, ticket: str, model: str) -> None:
        def switch(_: Any) -> None:
            self._configure("model", model, self._as_argument(model), self.replying(ticket, "config.set"))

        if ":" in model and self._providers is None:
            self.list_models(switch)
        else:
            switch(None)

    def list_models(self, then: Callable[[Any], None]) -> None:
        def listed(result: Any, error: Any) -> list[Event]:
            told = items(obj(result).get("providers"))
            slugs = {slug for one in told if (slug := non_empty(one.get("slug"))) is not None}
            self._providers = tuple(sorted(slugs, key=len, reverse=True))
            self.provider = non_empty(obj(result).get("provider")) or self.provider
            then(rpc_fault(error, "model.options") if error is not None else model_list(result))
            return []

        self.call("model.options", {"session_id": self.live}, listed)
