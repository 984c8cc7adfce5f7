"""One agent as its file tells it. The field docstrings are the format's manual."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from ag_ui.core import AgentCapabilities
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

SNAKE_FREE = ("custom", "metadata")
"""Below these keys names are the author's own and stay as written."""


def camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part.title() for part in rest)


def camel_tree(value: Any) -> Any:
    """TOML is written in snake_case, AG-UI in camelCase."""
    if not isinstance(value, Mapping):
        return value
    return {camel(key): item if key in SNAKE_FREE else camel_tree(item) for key, item in value.items()}


def capability_tree(value: Any) -> dict[str, Any]:
    """A `[capabilities]` table as AG-UI's object; a key that AG-UI does not have is refused."""
    tree = camel_tree(value)
    try:
        model = AgentCapabilities.model_validate(tree, strict=True)
    except ValidationError as exc:
        error = exc.errors(include_url=False)[0]
        raise ValueError(f"{'.'.join(str(part) for part in error['loc'])}: {error['msg']}") from exc
    for path in _extras(model, ()):
        raise ValueError(f"{'.'.join(path)}: AG-UI has no such capability; put it under `custom`")
    dumped: dict[str, Any] = model.model_dump(by_alias=True, mode="json", exclude_unset=True)
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


class AgentDefinition(Section):
    """`agents/ID.toml`."""

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$")
    """Its name in URLs; lower case letters, digits, `.`, `_`, `-`."""
    driver: Literal["python"]
    """How it is reached: `python`, a function in the gateway's own process."""
    entry: str = Field(pattern=r"^[\w.]+:[\w.]+$")
    """`module:name`. A module that stands beside this file is found first, then any that can be imported. The name is
    an async generator function, a generator function (run in a thread) or a coroutine function; it takes a `Turn`."""
    announces: str | None = Field(default=None, pattern=r"^[\w.]+:[\w.]+$")
    """`module:name` of capabilities: a mapping, or a function asked at every snapshot. Overrules `[capabilities]`."""
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

    source: Path = Path()
    """The file it came from; set by the loader."""
