"""One agent as its file tells it. The field docstrings are the format's manual."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

from ag_ui.core import AgentCapabilities
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from gateway.errors import AgentFault
from gateway.jsontext import dumps, loads

SNAKE_FREE = ("custom", "metadata")
"""Below these keys names are the author's own and stay as written."""


def camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part.title() for part in rest)


def camel_tree(value: Any) -> Any:
    """TOML is written in snake_case, AG-UI in camelCase."""
    if not isinstance(value, Mapping):
        return value
    for key in value:
        if not isinstance(key, str):
            raise ValueError(f"{key!r}: the name of a capability is a string")
    return {camel(key): item if key in SNAKE_FREE else camel_tree(item) for key, item in value.items()}


def capability_tree(value: Any) -> dict[str, Any]:
    """A `[capabilities]` table as AG-UI's object; a key that AG-UI does not have is refused."""
    if not isinstance(value, Mapping):
        raise ValueError("must be a table")
    tree = camel_tree(value)
    try:
        model = AgentCapabilities.model_validate(tree, strict=True)
    except ValidationError as exc:
        error = exc.errors(include_url=False)[0]
        raise ValueError(f"{'.'.join(str(part) for part in error['loc'])}: {error['msg']}") from exc
    for path in _extras(model, ()):
        raise ValueError(f"{'.'.join(path)}: AG-UI has no such capability; put it under `custom`")
    try:
        dumped: dict[str, Any] = loads(dumps(model.model_dump(by_alias=True, mode="json", exclude_unset=True)))
    except AgentFault as exc:
        raise ValueError(exc.detail) from exc
    return dumped


def _extras(model: BaseModel, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for name in model.model_extra or {}:
        yield (*path, name)
    for name in type(model).model_fields:
        value = getattr(model, name)
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, BaseModel):
                yield from _extras(item, (*path, camel(name)))


class Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Identity(Section):
    name: str
    """Shown to people."""
    description: str | None = None
    """What it is for, in one sentence."""
    provider: str | None = None
    """Who makes it."""
    version: str | None = None
    """Only where it is fixed; else it is asked."""
    type: str | None = None
    """The framework behind it; left out: the driver's name."""
    documentation_url: str | None = None


class Command(Section):
    """How an agent's process is started. Lists, never a shell."""

    run: tuple[str, ...] = Field(min_length=1)
    """The program and its arguments."""
    version: tuple[str, ...] = ()
    """Prints the version; asked by the probe."""
    env: dict[str, str] = Field(default_factory=dict)
    """Added to the trimmed environment."""
    inherit: tuple[str, ...] = ()
    """Names passed on from the gateway's own environment; `PREFIX_*` for a family. Values never live here."""


class Acp(Section):
    """What is particular about an agent that speaks ACP."""

    protocol: Literal[1, 2] = 1
    """2 asks for the draft; it is spoken only if the answer really is of that version."""
    fs: bool = False
    """Offer it `fs/*`. Agents do their own file work; offered, it goes through the gateway, inside the workspace."""
    terminal: bool = False
    """Offer it `terminal/*`."""
    sessions: Literal["many", "one"] = "many"
    """Sessions that one process may serve."""
    auth: str | None = None
    """The method to authenticate with when the agent asks for it."""
    start_timeout: float = Field(default=60.0, gt=0)
    """Seconds until `initialize` must be answered."""
    late: float = Field(default=0.05, ge=0, le=10)
    """Seconds after the end of a turn in which what still comes belongs to it."""
    usage_covers: Literal["turn", "session"] = "turn"
    """What its token counts are about; `session`: they add up over all turns."""
    errors_as_text: tuple[str, ...] = ()
    """Patterns of answers that are a model's failure in disguise."""


class Install(Section):
    """One way to get the agent; offered in order, never run unasked."""

    kind: Literal["npm", "uv", "pip", "brew", "shell", "manual"]
    package: str
    """Package name, or the command for `shell`, or a sentence for `manual`."""
    version: str | None = None
    """The version that was tried last."""


class Auth(Section):
    """A sign that somebody is signed in; the first that holds is enough."""

    kind: Literal["env", "file", "command", "none"]
    name: str | None = None
    """`env`: the variable. `file`: the path; `~` is the home."""
    run: tuple[str, ...] = ()
    """`command`: exits 0 when signed in."""
    timeout: float = Field(default=5.0, gt=0)
    hint: str | None = None
    """What to do when no sign holds."""


class AgentDefinition(Section):
    """`agents/ID.toml`."""

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$")
    """Its name in URLs; lower case letters, digits, `.`, `_`, `-`."""
    driver: Literal["python", "acp"]
    """How it is reached: `python`, a function in the gateway's own process; `acp`, a process that speaks ACP."""
    entry: str | None = Field(default=None, pattern=r"^[\w.]+:[\w.]+$")
    """python: `module:name`. A module that stands beside this file is found first, then any that can be imported. The
    name is an async generator function, a generator function (run in a thread) or a coroutine function of a `Turn`."""
    announces: str | None = Field(default=None, pattern=r"^[\w.]+:[\w.]+$")
    """python: `module:name` of capabilities: a mapping, or a function asked at every snapshot."""
    command: Command | None = None
    """acp: the process."""
    acp: Acp = Field(default_factory=Acp)
    """acp: what is particular about it."""
    install: tuple[Install, ...] = ()
    """How to get it."""
    auth: tuple[Auth, ...] = ()
    """How to see that somebody is signed in."""
    identity: Identity
    """What people see."""
    capabilities: Annotated[dict[str, Any], BeforeValidator(capability_tree)] = Field(default_factory=dict)
    """AG-UI's capabilities in snake_case. Absent means unknown, so say only what is so."""
    options: tuple[str, ...] = ()
    """Which of `forwardedProps.gateway`'s wishes it takes (`model`, `effort`, …); any other is refused."""
    merge: bool = True
    """Join adjacent deltas that arrive together."""
    merge_window_ms: float = Field(default=0.0, ge=0, le=1000)
    """Wait so long for more to join. 0 adds no delay."""
    stall_timeout: float | None = Field(default=None, gt=0)
    """Seconds of silence before a run fails; left out: the gateway's own bound."""
    checked: date | None = None
    """When somebody last held this file against the real agent."""
    sources: tuple[str, ...] = ()
    """Where its facts are from."""

    source: Path = Path()
    """The file it came from; set by the loader."""

    @model_validator(mode="after")
    def _reachable(self) -> AgentDefinition:
        needed = {"python": "entry", "acp": "command"}[self.driver]
        if getattr(self, needed) is None:
            raise ValueError(f"driver {self.driver!r} needs `{needed}`")
        return self
