"""Names and sentences that the project does not use: `docs/glossary.md` has the words that it does use."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

from tests.support.project import ROOT, files

GERUNDS = frozenset(("framing", "logging", "ordering", "pricing", "routing", "steering", "streaming", "tracing"))
"""Gerunds that are nouns of the field."""

NAMES = frozenset(
    (
        *("anew", "book", "books", "door", "doors", "foliage", "heed", "heeds", "house", "lane", "lanes", "leash"),
        *("letter", "letters", "omps", "pulse", "roster", "shelf", "shelves", "told", "warden", "wish", "wished"),
        *("wishes", "word", "words"),
    )
)
"""Parts of identifiers: each is a metaphor, or a participle that stood for anything."""

SENTENCES = re.compile(
    r"\b(?:anew|heed(?:s|ed)?|lanes?|nobody|roster|shel(?:f|ves)|somebody|the house|told|warden|whoever|wish(?:es|ed)?)"
    r"\b",
    re.IGNORECASE,
)
"""Words that hide who acts. The protocols name the actors: client, user, agent, operator, gateway."""

OLD_KEYS = Path("gateway/catalog/renamed_keys.py")
"""The table of keys that have other names now: it must have the old ones."""

GENERATED = Path("gateway/encode/protobuf/pb")
MODULES = [
    path for path in files() if path.suffix == ".py" and path.parts[0] == "gateway" and GENERATED not in path.parents
]
PROSE = [
    path
    for path in files()
    if path.suffix in (".md", ".toml", ".js", ".html") and path.parts[0] in ("README.md", "agents", "docs", "gateway")
]


def parts_of(name: str) -> set[str]:
    """`_told_outcome` and `ToldOutcome` → told, outcome."""
    return {part.lower() for part in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}


def tokens(path: Path) -> Iterator[tokenize.TokenInfo]:
    return tokenize.generate_tokens(io.StringIO((ROOT / path).read_text("utf-8")).readline)


def test_no_module_is_named_by_a_gerund() -> None:
    names = [path for path in MODULES if path.stem.endswith("ing") and path.stem not in GERUNDS]
    assert names == []


def test_no_module_has_a_banned_name() -> None:
    assert [path for path in MODULES if parts_of(path.stem) & NAMES] == []


def test_no_identifier_has_a_banned_part() -> None:
    wrong = {
        f"{path}:{token.start[0]}: {token.string}"
        for path in MODULES
        for token in tokens(path)
        if token.type == tokenize.NAME and parts_of(token.string) & NAMES
    }
    assert sorted(wrong) == []


def test_no_docstring_comment_or_message_has_a_banned_word() -> None:
    wrong = [
        f"{path}:{token.start[0]}: …{token.string[max(0, found.start() - 30) : found.end() + 30]}…"
        for path in MODULES
        if path != OLD_KEYS
        for token in tokens(path)
        if token.type in (tokenize.STRING, tokenize.COMMENT)
        for found in SENTENCES.finditer(token.string)
    ]
    assert wrong == []


def test_no_page_label_or_comment_has_a_banned_word() -> None:
    wrong = [
        f"{path}:{number}: {line.strip()[:100]}"
        for path in PROSE
        if path.name not in ("CHANGELOG.md", "changelog.md")
        for number, line in enumerate((ROOT / path).read_text("utf-8").splitlines(), 1)
        if SENTENCES.search(line)
    ]
    assert wrong == []


def test_a_banned_part_is_found_in_every_spelling() -> None:
    assert parts_of("_told_outcome") & NAMES and parts_of("ToldOutcome") & NAMES and parts_of("HTTPDoor") & NAMES
    assert not parts_of("keyword") & NAMES
