"""What Hermes is sent before and with a prompt: model, effort, skills, images, files, then the prompt.

In: `Prompt` and responses. Out: requests, each sent after the response to the previous one. All settings are made for
the session: nothing here changes the user's own config.yaml.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

from gateway.errors import AgentFault
from gateway.events import Event, TurnFailed, Warning
from gateway.wire.dialects.base import Dialect, Prompt
from gateway.wire.dialects.hermes.attachments import read_attachments, to_file_request
from gateway.wire.dialects.hermes.errors import error_message, to_fault
from gateway.wire.dialects.hermes.session_state import read_models, read_providers
from gateway.wire.dialects.hermes.sessions import Call, ResponseReader
from gateway.wire.dialects.hermes.skills import load_skill
from gateway.wire.fields import non_empty, obj

EFFORTS = frozenset(("none", "minimal", "low", "medium", "high", "xhigh", "max", "ultra"))
"""Any other value of `reasoning` would change how the user's own terminal shows reasoning, permanently."""
DASHES = ("-", "\u2012", "\u2013", "\u2014", "\u2015")
"""Characters that Hermes reads as the start of a flag."""


class SessionSettings:
    """The model and the effort of one session. `call` sends a request about the session."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._values: dict[str, str] = {}
        self._providers: tuple[str, ...] | None = None
        self.provider: str | None = None
        """The provider of the session's model."""
        self.has_agent = False
        """Hermes has reported about the agent of the session, so it is built."""

    def clear(self) -> None:
        """A new process."""
        self._values.clear()
        self.has_agent = False

    def is_set(self, key: str, value: str) -> bool:
        return self._values.get(key) == value

    def note_provider(self, provider: Any) -> None:
        """The provider that Hermes reports."""
        self.provider = non_empty(provider) or self.provider

    def set_value(self, key: str, value: str, reader: ResponseReader, argument: str | None = None) -> None:
        """`argument`: the value in Hermes' form, where that differs."""

        def read_set(result: Any, error: Any) -> list[Event]:
            if error is None:
                self._values[key] = value
            return reader(result, error)

        params = {"key": key, "value": value if argument is None else argument, "confirm_expensive_model": True}
        self._call("config.set", params, read_set)

    def set_model(self, model: str, reader: ResponseReader) -> None:
        """`provider:model` is split only where the first part names a provider: models have colons, too."""
        if ":" in model and self._providers is None:
            self.list_models(lambda models, fault: self._set_known_model(model, reader))
        else:
            self._set_known_model(model, reader)

    def _set_known_model(self, model: str, reader: ResponseReader) -> None:
        self.set_value("model", model, reader, self._to_argument(model))

    def _to_argument(self, model: str) -> str:
        """For this session only; no part of the name is read as a flag."""
        name = " ".join(part for part in model.split() if not part.startswith(DASHES))
        for provider in self._providers or ():
            if name.startswith(f"{provider}:"):
                # The provider that the config's `model` names has no name that `--provider` would take.
                flag = "" if provider == self.provider else f" --provider {provider}"
                return f"{name.removeprefix(f'{provider}:')}{flag} --session"
        return f"{name} --session"

    def list_models(self, on_list: Callable[[list[dict[str, Any]], AgentFault | None], None]) -> None:
        def read_list(result: Any, error: Any) -> list[Event]:
            self._providers = read_providers(result)
            self.note_provider(obj(result).get("provider"))
            on_list(read_models(result), to_fault(error, "model.options") if error is not None else None)
            return []

        self._call("model.options", {}, read_list)


class TurnSetup:
    """The requests of one turn, up to the prompt itself. `call` sends a request about the session."""

    def __init__(self, dialect: Dialect, call: Call, settings: SessionSettings) -> None:
        self._dialect = dialect
        self._call = call
        self._settings = settings
        self._steps: deque[Callable[[], None]] = deque()
        self._skills: list[str] = []
        """The texts of the skills that the prompt invokes."""
        self._references: list[str] = []
        self._warnings: list[Warning] = []
        self.is_submitted = False
        """The prompt has been sent."""

    def clear(self) -> None:
        """A new process."""
        self._steps.clear()
        self._settings.clear()

    def plan(self, prompt: Prompt) -> None:
        """Collect what must be sent; `send_next` sends the first."""
        self._steps.clear()
        self._references = []
        self._skills = []
        self.is_submitted = False
        requests, self._warnings = read_attachments(prompt.blocks)
        if prompt.model is not None and not self._settings.is_set("model", prompt.model):
            self._steps.append(partial(self._settings.set_model, prompt.model, self._read_setting))
        effort = prompt.thinking.get("reasoning")
        if isinstance(effort, str) and effort in EFFORTS and not self._settings.is_set("reasoning", effort):
            if not self._settings.has_agent:
                self._steps.append(self._wait_for_agent)
            self._steps.append(partial(self._settings.set_value, "reasoning", effort, self._read_setting))
        for name in prompt.skills:
            self._steps.append(partial(load_skill, self._call, name, self._add_skill, self._refuse_skill))
        self._steps.extend(partial(self._attach, *request) for request in requests)
        self._steps.append(self._submit)

    def send_next(self) -> None:
        if self._steps and self._dialect.is_busy and not self._dialect.is_cancelled:
            self._steps.popleft()()

    def _wait_for_agent(self) -> None:
        """Hermes answers `session.create` and then builds its agent. An effort that comes meanwhile is accepted and
        lost, so a request that Hermes answers only after that goes first. If it fails, the prompt says why."""

        def read_list(result: Any, error: Any) -> list[Event]:
            self.send_next()
            return []

        self._call("process.list", {}, read_list)

    def _read_setting(self, result: Any, error: Any) -> list[Event]:
        """A setting that Hermes refuses fails the turn before it starts."""
        if error is not None and self._dialect.is_busy and not self._dialect.is_cancelled:
            return self._dialect.fail_turn(TurnFailed(to_fault(error, "config.set").detail, "MODEL_ERROR"))
        self.send_next()
        warning = non_empty(obj(result).get("warning"))
        return [Warning("MODEL", warning)] if warning else []

    def _add_skill(self, message: str) -> list[Event]:
        self._skills.append(message)
        self.send_next()
        return []

    def _refuse_skill(self, reason: str) -> list[Event]:
        if not self._dialect.is_busy or self._dialect.is_cancelled:
            return []
        return self._dialect.fail_turn(TurnFailed(reason, "SKILL_NOT_FOUND"))

    def _attach(self, method: str, params: dict[str, str]) -> None:
        def read_attached(result: Any, error: Any) -> list[Event]:
            if error is not None and (as_file := to_file_request(method, params)) is not None:
                self._attach(*as_file)
                return []
            if (reference := non_empty(obj(result).get("ref_text"))) is not None:
                self._references.append(reference)
            if error is not None:
                detail = f"a part of the prompt was left out: {error_message(error)}"
                self._warnings.append(Warning("CONTENT_DROPPED", detail))
            self.send_next()
            return []

        self._call(method, params, read_attached)

    def _submit(self) -> None:
        self.is_submitted = True
        prompt = "\n\n".join([*self._skills, self._dialect.turn.text, *self._references]).strip()
        self._call("prompt.submit", {"text": prompt}, self._read_submitted)

    def _read_submitted(self, result: Any, error: Any) -> list[Event]:
        warnings = self._warnings
        self._warnings = []
        if error is None or not self._dialect.is_busy:
            return list(warnings)
        if self._dialect.is_cancelled:
            return self._dialect.end_turn("cancelled")
        fault = to_fault(error, "prompt.submit")
        return self._dialect.fail_turn(TurnFailed(fault.detail, fault.code))
