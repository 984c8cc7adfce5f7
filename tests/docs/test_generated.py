"""The generated pages say what the code says today."""

from __future__ import annotations

import pytest

from tests.docs.generate import DOCS, PAGES


@pytest.mark.parametrize("name", PAGES)
def test_a_generated_page_is_what_the_code_says(name: str) -> None:
    assert (DOCS / name).read_text("utf-8") == PAGES[name](), "`make docs` writes it again"


def test_every_field_of_a_reference_page_has_a_meaning() -> None:
    rows = [
        row for name in ("agent-file.md", "configuration.md") for row in (DOCS / name).read_text("utf-8").splitlines()
    ]
    empty = [row for row in rows if row.startswith("| `") and row.rstrip().endswith("|  |")]
    assert empty == []
