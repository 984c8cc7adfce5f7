"""What is set on a thread: its mode, model, folder and session options. It holds until something else is set.

In: what runs and requests set, and what the session reports afterwards. Out: the options of a run that names none, the
options of a session that is opened again, and the session layer of a thread whose session is closed. Pure: stored with
the thread by `runs.thread_state`. Never: MCP servers, which may have secrets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gateway.capability_paths import CONFIG, MODE, MODEL, MODELS, MODES, SESSION, SESSION_OPEN
from gateway.errors import NotCapable
from gateway.events import Layer
from gateway.jsonio import dumps
from gateway.turn import Options

EFFORT_CATEGORY = "thought_level"
CATEGORIES = {"mode": MODE, "model": MODEL}
"""Categories of session options that have a path of their own."""
KEPT_PARTS = ("modes", "models", "config", "effort", "permissions", "cwd", "commands")
"""What of `custom.session` is kept of a closed session. Usage and title change with every run."""
MAX_KEPT_BYTES = 64_000
"""Some agents list hundreds of models: of a longer layer, the lists are left out."""

DROPPED = " The thread was set to it earlier. This setting is dropped now: send the message again to go on without it."
"""What a refusal adds about a setting that the client did not send."""

Named = Mapping[str, Any]
"""`mode`, `model`, `effort` and `config` (a mapping), as far as a run or a request sets them."""


@dataclass(frozen=True, slots=True)
class ThreadSettings:
    mode: str | None = None
    model: str | None = None
    config: Mapping[str, str | bool] = field(default_factory=dict)
    """The session's own options, by id."""
    cwd: str | None = None
    additional_directories: tuple[str, ...] | None = None
    layer: Layer = field(default_factory=dict)
    """What the session stated last below `custom.session`, for the time when it is closed."""

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> ThreadSettings:
        directories = stored.get("additionalDirectories")
        return cls(
            stored.get("mode"),
            stored.get("model"),
            stored.get("config", {}),
            stored.get("cwd"),
            None if directories is None else tuple(directories),
            stored.get("layer", {}),
        )

    def to_json(self) -> dict[str, Any]:
        """Empty: nothing is set or known."""
        values = {
            "mode": self.mode,
            "model": self.model,
            "config": self.config or None,
            "cwd": self.cwd,
            "additionalDirectories": self.additional_directories,
            "layer": self.layer or None,
        }
        return {name: value for name, value in values.items() if value is not None}

    def fill(self, options: Options) -> tuple[Options, tuple[str, ...]]:
        """The options of a run, with what is set on the thread where the run names nothing; and the names of these."""
        names = ("mode", "model", "cwd", "additional_directories")
        missing = [name for name in names if getattr(options, name) is None and getattr(self, name) is not None]
        values: dict[str, Any] = {name: getattr(self, name) for name in missing}
        return replace(options, **values), tuple(missing)

    def follow(self, session_layer: Layer, named: Named, *, is_kept: bool = False) -> ThreadSettings:
        """After a run, or a request: what was set before, or is named now, is what the session reports of it.
        `is_kept`: what is named holds even if the session reports nothing of it."""
        config = {**self.config, **_find_options(session_layer, named)}
        values = {str(option["id"]): option.get("value") for option in _options(session_layer)}
        reported = {name: values.get(name, value) for name, value in config.items()}
        return replace(
            self,
            mode=_follow("mode", self.mode, session_layer, named, is_kept=is_kept),
            model=_follow("model", self.model, session_layer, named, is_kept=is_kept),
            config={name: value for name, value in reported.items() if isinstance(value, str | bool)},
            layer=_select(session_layer),
        )

    def in_folder(self, cwd: str, additional_directories: tuple[str, ...] | None) -> ThreadSettings:
        """A run named the folder."""
        return replace(self, cwd=cwd, additional_directories=additional_directories)

    def without(self, name: str) -> ThreadSettings:
        """`name`: of a field; the agent does not take its value any more."""
        nothing: dict[str, Any] = {name: None}
        return replace(self, **nothing)

    @property
    def closed_layer(self) -> Layer:
        """The session layer while the session is closed: what the next session will be set to. Empty: nothing is
        known."""
        values = dict(self.layer)
        if self.mode is not None:
            values[MODE] = self.mode
        if self.model is not None:
            values[MODEL] = self.model
        if not values:
            return {}
        return {**values, SESSION_OPEN: False}


def find_setting(refusal: NotCapable) -> str | None:
    """The setting that a session has refused; None: it refused something else."""
    return {MODES: "mode", MODELS: "model"}.get(str(refusal.extra.get("capability")))


def _follow(name: str, before: str | None, layer: Layer, named: Named, *, is_kept: bool) -> str | None:
    current = layer.get(CATEGORIES[name])
    given = named.get(name)
    if before is None and given is None:
        return None
    if isinstance(current, str) and current:
        return current
    return given if is_kept and given is not None else before


def _options(layer: Layer) -> list[dict[str, Any]]:
    """The session's own options, but for those that have a path of their own."""
    options = layer.get(CONFIG)
    listed = [option for option in options if isinstance(option, dict)] if isinstance(options, list) else []
    return [option for option in listed if "id" in option and option.get("category") not in CATEGORIES]


def _find_options(layer: Layer, named: Named) -> dict[str, Any]:
    """The session's options that are named: by their id, or by their category."""
    wanted: dict[str, Any] = dict(named.get("config") or {})
    if named.get("effort") is not None:
        wanted[EFFORT_CATEGORY] = named["effort"]
    options = _options(layer)
    found = {}
    for name, value in wanted.items():
        by_id = [option for option in options if option["id"] == name]
        by_category = [option for option in options if option.get("category") == name]
        for option in (by_id or by_category)[:1]:
            found[str(option["id"])] = value
    return found


def _select(layer: Layer) -> Layer:
    """The part of a session's layer that is kept."""
    parts = tuple(f"{SESSION}.{part}" for part in KEPT_PARTS)
    kept = {path: value for path, value in layer.items() if path.startswith(parts)}
    for path in (MODELS, f"{SESSION}.commands"):
        if len(dumps(kept)) > MAX_KEPT_BYTES:
            kept.pop(path, None)
    return kept if len(dumps(kept)) <= MAX_KEPT_BYTES else {}
