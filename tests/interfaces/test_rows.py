"""The catalogue of rows is complete; each row has a test that exists, or a reason that stands in the documentation."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys

import pytest

from tests.interfaces import interface
from tests.interfaces.rows import Document, documents
from tests.interfaces.rows.page import differences
from tests.support.project import ROOT

ROWS = [row for document in documents() for row in document.rows]
COUNTS = {"AG-UI": 57, "agents-wire": 27, "agent-mux": 179}
INTERFACES = {"ag-ui.leaf": "agui", "wire.field": "acp", "mux.field": "mux", "mux.model": "models"}
"""Section → the interface whose fields are its rows."""
AROUND_FIELDS = {"precedence"}
"""Rows of such a section that are no field."""
NAMED = {test for row in ROWS for test in row.tests}
ROW_CASE = re.compile(r"\[(ag-ui|wire|mux)\.")
COLLECT_SECONDS = 120.0

every_document = pytest.mark.parametrize("document", documents(), ids=[document.name for document in documents()])


@pytest.fixture(scope="module")
def cases() -> set[str]:
    """The tests of the modules of which a row names a case, with their parameters."""
    paths = sorted({test.partition("::")[0] for test in NAMED if "[" in test})
    command = [sys.executable, "-m", "pytest", "--collect-only", "-p", "no:cacheprovider", *paths]
    env = {**os.environ, "AGUI_TEST_THOROUGH": "1"}  # the cases of `make test-agents` count too
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=COLLECT_SECONDS)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return {line for line in done.stdout.splitlines() if "::test_" in line}


def functions_of(path: str) -> set[str]:
    """The tests of a module, without their parameters."""
    module = ast.parse((ROOT / path).read_text("utf-8"))
    functions = (node for node in module.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return {f"{path}::{node.name}" for node in functions}


@every_document
def test_every_row_of_the_document_is_there(document: Document) -> None:
    assert len(document.rows) == document.rows_expected == COUNTS[document.name]
    assert sum(document.count(state) for state in ("works", "different", "open")) == len(document.rows)


def test_a_row_has_an_id_of_its_own_and_a_promise() -> None:
    ids = [row.id for row in ROWS]
    assert len(set(ids)) == len(ids) == sum(COUNTS.values())
    assert [row.id for row in ROWS if not re.fullmatch(r"[a-zA-Z.-]+", row.id) or not row.promise.strip()] == []


@pytest.mark.parametrize("section_id", INTERFACES)
def test_every_field_of_an_interface_is_a_row(section_id: str) -> None:
    [section] = [each for document in documents() for each in document.sections if each.id == section_id]
    fields = [field.path for field in interface(INTERFACES[section_id]).fields if not field.extra]
    assert [row.name for row in section.rows if row.name not in AROUND_FIELDS] == fields


def test_a_row_has_one_state() -> None:
    wrong = [row.id for row in ROWS if (row.different and row.open) or (row.open and row.tests)]
    assert wrong + [row.id for row in ROWS if row.state == "works" and not row.tests] == []


def test_every_named_test_exists(cases: set[str]) -> None:
    functions = {name for path in {test.partition("::")[0] for test in NAMED} for name in functions_of(path)}
    assert sorted(NAMED - functions - cases) == []


def test_every_case_with_the_id_of_a_row_is_named_by_that_row(cases: set[str]) -> None:
    ids = {row.id for row in ROWS}
    found = {test: test.partition("[")[2].removesuffix("]") for test in cases if ROW_CASE.search(test)}
    assert len(found) > len(ROWS) / 2
    assert [test for test, row_id in found.items() if row_id not in ids or test not in NAMED] == []


@every_document
def test_what_is_different_on_purpose_has_its_reason_in_the_documentation(document: Document) -> None:
    found = differences(document.name)
    assert all(difference.here and difference.reason for difference in found.values())
    assert {row.id: row.different for row in document.rows if row.different and row.different not in found} == {}


def test_what_is_not_reached_is_listed_with_its_reason() -> None:
    text = (ROOT / "docs" / "conformance.md").read_text("utf-8")
    listed = text.partition("## Not reached\n")[2].partition("\n## ")[0]
    assert [row.id for row in ROWS if row.open and f"| `{row.id}` | {row.promise} | {row.open} |" not in listed] == []
