"""The document with every field: true, whole, and found from the README."""

from __future__ import annotations

import re

import pytest

from gateway.wire.dialects import DIALECTS
from tests.interfaces import NAMES, interface
from tests.interfaces.document import MIN_NEARLY_ALL, PATH, VIEWS, document
from tests.interfaces.sources import NOT_CARRIED, layers_of, paths_of

TEXT = PATH.read_text("utf-8")


def test_it_is_what_the_code_and_the_interfaces_say() -> None:
    assert document() == TEXT, "python -m tests.interfaces.document writes it again"


@pytest.mark.parametrize("name", NAMES)
def test_it_has_every_field_of_every_interface(name: str) -> None:
    about = interface(name)
    heading = f"{about.of}: `{about.title}`\n" if name in VIEWS else "A session: `custom.session`\n"
    [section] = [part for part in TEXT.split("\n## ") if part.startswith(heading)]
    rows = re.findall(r"^\| `([\w.]+)\??`", section, re.M)
    assert [row for row in rows if row not in about.types] == [field.path for field in about.fields]


@pytest.mark.parametrize("view", ["agui", "acp", "mux", "relay", "session"])
def test_every_field_has_a_layer_that_can_state_it(view: str) -> None:
    otherwise = ("agent", "installMethods", "status", "unknown", "custom", *NOT_CARRIED)
    fields = [field for field in interface(view).fields if field.path not in otherwise]
    assert [field.path for field in fields if not layers_of(paths_of(view, field.path))] == []


def test_what_the_gateway_provides_is_stated_by_the_gateway() -> None:
    assert layers_of(["transport.streaming"])[-1] == "gateway"
    assert layers_of(["identity.version"]) == ["profile", "probe", "handshake"]
    assert layers_of(["custom.session.modes.current"]) == ["session"]
    assert layers_of(["nobody.ever"]) == []


def test_nearly_all_is_not_a_few() -> None:
    assert len(DIALECTS) // 2 < MIN_NEARLY_ALL < len(DIALECTS)
