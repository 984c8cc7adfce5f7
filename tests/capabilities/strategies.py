"""Any capabilities that AG-UI 1.0 allows, drawn from the official models themselves, and layers that speak them."""

from __future__ import annotations

from types import NoneType
from typing import Any, get_args, get_origin

from ag_ui.core import AgentCapabilities
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from gateway.capabilities.layers import LAYERS, LayerStatement
from gateway.capabilities.merge import merge
from gateway.capability_paths import flatten
from tests.agui.streams import Strategy, steady

# Few, so that layers meet; some need escaping in a path or in a pointer.
NAMES = st.sampled_from(["a", "b.c", "d/e", "~", ""])
ANYTHING = st.recursive(
    st.booleans() | st.integers(-3, 3) | st.text("xy", max_size=2),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=2),
    max_leaves=5,
)
PLAIN: dict[Any, Strategy] = {
    bool: st.booleans(),
    int: st.integers(0, 100),
    str: st.text("otter ", max_size=5),
    Any: ANYTHING,
}


def of_model(model: type[BaseModel]) -> Strategy:
    """Its JSON: what must be there, and any of the rest."""
    fields = {field.alias or name: field for name, field in model.model_fields.items()}
    needed = {name: of_type(field.annotation) for name, field in fields.items() if field.is_required()}
    free = {name: of_type(field.annotation) for name, field in fields.items() if not field.is_required()}
    return st.fixed_dictionaries(needed, optional=free)


def of_type(annotation: Any) -> Strategy:
    if annotation in PLAIN:
        return PLAIN[annotation]
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return of_model(annotation)
    inner = [part for part in get_args(annotation) if part is not NoneType]
    if get_origin(annotation) is list:
        return st.lists(of_type(inner[0]), max_size=2)
    if get_origin(annotation) is dict:
        return st.dictionaries(NAMES, of_type(inner[1]), max_size=2)
    return of_type(inner[0])  # whatever may also be absent


TREES = of_model(AgentCapabilities)


@st.composite
def wait_until_probed(draw: st.DrawFn) -> list[LayerStatement]:
    """Some of the layers, in any order, each with words that AG-UI allows."""
    names = draw(st.lists(st.sampled_from(LAYERS), unique=True, min_size=1, max_size=len(LAYERS)))
    return [LayerStatement(name, f"{name}'s source", flatten(draw(TREES)), "now") for name in names]


def merged_examples() -> list[dict[str, Any]]:
    """The same ones at every call."""
    found: list[dict[str, Any]] = []

    @steady
    @given(wait_until_probed())
    def collect(layers: list[LayerStatement]) -> None:
        found.append(merge(layers).tree())

    collect()
    return found
