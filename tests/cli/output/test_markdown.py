"""Markdown as it streams: set once, in any cut, and never lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.cli.output.markdown import Piece, StreamingMarkdown

SAMPLE = """\
# Title

Some **bold** and *slanted* text, `code*`, ~~old~~, snake_case_name, 2 * 3.

- one
  - [x] two
> quoted

```python
x = "**raw**"
```
| a | bb |
|---|:--:|
| 1 | 2 |

---
The **end"""


def joined(pieces: list[Piece]) -> list[Piece]:
    """Neighbours of one style as one; newlines have none."""
    found: list[Piece] = []
    for text, style in pieces:
        for part in text.splitlines(keepends=True):
            style_ = "" if part == "\n" else style
            if found and found[-1][1] == style_ and not found[-1][0].endswith("\n"):
                found[-1] = (found[-1][0] + part, style_)
            else:
                found.append((part, style_))
    return found


def played(text: str, *cuts: int) -> list[Piece]:
    flow, places = StreamingMarkdown(), sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    pieces = [piece for start, end in zip(places, places[1:], strict=False) for piece in flow.feed(text[start:end])]
    return joined([*pieces, *flow.close()])


def plain(text: str) -> str:
    return "".join(piece for piece, _ in played(text))


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("plain", [("plain", "")]),
        ("# A *b*\n", [("A ", "bold"), ("b", "bold italic"), ("\n", "")]),
        ("a **b** c", [("a ", ""), ("b", "bold"), (" c", "")]),
        ("`a*b`", [("a*b", "cyan")]),
        ("``a`b``", [("a`b", "cyan")]),
        ("snake_case_name", [("snake_case_name", "")]),
        ("2 * 3 * 4", [("2 * 3 * 4", "")]),
        ("**never closed\nnext", [("never closed", "bold"), ("\n", ""), ("next", "")]),
        ("- one\n", [("• ", "dim"), ("one", ""), ("\n", "")]),
        ("  - [x] two", [("  ☑ ", "dim"), ("two", "")]),
        ("- [ ] to do", [("☐ ", "dim"), ("to do", "")]),
        ("> quoted", [("│ ", "dim"), ("quoted", "dim")]),
        ("```py\na **b**\n\n```\nc", [("  a **b**\n", "cyan"), ("  \n", "cyan"), ("c", "")]),
        ("---\n", [("─" * 40 + "\n", "dim")]),
        ("-5 degrees", [("-5 degrees", "")]),
        ("#hashtag", [("#hashtag", "")]),
        ("| a | bb |\n|---|---|\n| 1 | 2 |\n\n", [("a  bb\n", "bold"), ("─  ──\n", "dim"), ("1  2\n", ""), ("\n", "")]),
        ("| no table\n", [("| no table\n", "")]),
    ],
)
def test_markdown_is_rendered_like_this(text: str, pieces: list[Piece]) -> None:
    assert played(text) == joined(pieces)


@given(cuts=st.lists(st.integers(0, len(SAMPLE))))
def test_the_cuts_do_not_change_the_result(cuts: list[int]) -> None:
    assert played(SAMPLE, *cuts) == played(SAMPLE)


@given(
    text=st.text("ab *_`~#>-+|[]x\n1.\\", max_size=60),
    cuts=st.lists(st.integers(0, 60)),
)
def test_no_text_is_lost_wherever_it_is_cut(text: str, cuts: list[int]) -> None:
    assert played(text, *cuts) == played(text)
    if "```" not in text and "~~~" not in text:  # what follows a fence on its line is the language's name
        shown = plain(text)
        assert [char for char in text if char in "ab1."] == [char for char in shown if char in "ab1."]


def test_text_is_printed_before_its_line_ends() -> None:
    flow = StreamingMarkdown()
    assert flow.feed("Hello wor") == [("Hello wor", "")]
    assert flow.feed("ld, **bo") == [("ld, ", ""), ("", ""), ("bo", "bold")]
