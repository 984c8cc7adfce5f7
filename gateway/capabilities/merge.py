"""Layers → one snapshot that remembers who said what."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import orjson

from gateway.capabilities.layers import LAYERS, LayerStatement
from gateway.capability_paths import unflatten


@dataclass(frozen=True, slots=True)
class Snapshot:
    values: dict[str, Any]
    sources: dict[str, list[LayerStatement]]
    """Every leaf's speakers; the last one's word counts, the others were overruled."""

    def get(self, path: str) -> Any:
        return self.values.get(path)

    def who(self, path: str) -> str:
        """`profile (echo.toml)`, for a refusal."""
        speakers = self.sources.get(path)
        return f"{speakers[-1].layer} ({speakers[-1].source})" if speakers else "nobody"

    def tree(self) -> dict[str, Any]:
        """AG-UI's AgentCapabilities."""
        return unflatten(self.values)

    def explain(self) -> dict[str, Any]:
        """Each leaf with its value, its speaker, and whom that overruled."""
        return {path: _told(path, speakers) for path, speakers in sorted(self.sources.items())}


def merge(layers: Iterable[LayerStatement]) -> Snapshot:
    """Later layers win, key by key. A missing key says nothing; it is not False. Neither does an empty object: it
    leaves what others say of its keys. Where one layer has a value and another an object, the later one stands."""
    values: dict[str, Any] = {}
    sources: dict[str, list[LayerStatement]] = {}
    inside: set[str] = set()
    """Paths below which there is, or was, a leaf: only those need be searched."""
    for said in sorted(layers, key=lambda said: LAYERS.index(said.layer)):
        for path, value in said.values.items():
            parents = _parents(path)
            above = [other for other in parents if other in values]
            below = [other for other in values if other.startswith(f"{path}.")] if path in inside else []
            inside.update(parents)
            if value == {} and (below or path in values):
                continue
            for other in (*above, *below):
                del values[other], sources[other]
            values[path] = value
            sources.setdefault(path, []).append(said)
    return Snapshot(values, sources)


def _parents(path: str) -> list[str]:
    """The places that a leaf stands below."""
    cuts = [at for at, sign in enumerate(path) if sign == "."]
    return [path[:at] for at in cuts]


def etag(body: bytes) -> str:
    return f'"{blake2b(body, digest_size=12).hexdigest()}"'


def _told(path: str, speakers: list[LayerStatement]) -> dict[str, Any]:
    *overridden, last = (_word(path, said) for said in speakers)
    return {**last, "overridden": overridden[::-1]} if overridden else last


def _word(path: str, said: LayerStatement) -> dict[str, Any]:
    told = {"value": said.values[path], "layer": said.layer, "source": said.source, "since": said.at}
    return told if said.key_of is None else {**told, "key": said.key_of(path)}


def to_json(tree: dict[str, Any]) -> bytes:
    return orjson.dumps(tree)
