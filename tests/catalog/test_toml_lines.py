"""The line of a key in a TOML text, whatever stands around it."""

from __future__ import annotations

import pytest

from gateway.catalog.problems import Place
from gateway.catalog.toml_lines import line_of

TEXT = '''\
id = "x"  # [no]
text = """
id = "nope"
[fake]
"""
many = [
  "a = 1",  # ]
  'b',
]
identity = { name = "N", provider = "P" }

[command]
run = ["x"]
"quoted key" = 1
env.A = "b"

[[models]]
id = "one"
[[models]]
id = "two"
price = { input = 1, colour = 2 }
[models.limits]
far = 3
'''


@pytest.mark.parametrize(
    ("place", "line"),
    [
        (("id",), 'id = "x"  # [no]'),
        (("many", 1), "many = ["),
        (("identity", "provider"), 'identity = { name = "N", provider = "P" }'),
        (("command",), "[command]"),
        (("command", "run", 0), 'run = ["x"]'),
        (("command", "quoted key"), '"quoted key" = 1'),
        (("command", "env", "A"), 'env.A = "b"'),
        (("models", 0, "id"), 'id = "one"'),
        (("models", 1, "id"), 'id = "two"'),
        (("models", 1, "price", "colour"), "price = { input = 1, colour = 2 }"),
        (("models", 1, "limits", "far"), "far = 3"),
    ],
    ids=str,
)
def test_a_key_is_found_where_it_is_written(place: Place, line: str) -> None:
    assert TEXT.splitlines()[line_of(TEXT, place) - 1] == line


def test_of_a_key_that_is_missing_the_table_around_it_is_named() -> None:
    assert TEXT.splitlines()[line_of(TEXT, ("command", "version")) - 1] == "[command]"
    assert line_of(TEXT, ("driver",)) == 1, "nothing of it is written"
    assert line_of(TEXT, ("fake", "id")) == 1, "what stands in a long string is no key"
