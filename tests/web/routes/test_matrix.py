"""`GET /capabilities/matrix`: all agents by all leaves."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest

from gateway.capability_paths import flatten
from tests.support.gateway import Gateway

PATH = "/capabilities/matrix"
CSV = {"accept": "text/csv"}


@pytest.fixture(scope="module")
def matrix(gateway: Gateway) -> Any:
    gateway.client.get("/agents")  # so that each was looked at
    return gateway.client.get(PATH).json()


def rows(gateway: Gateway, **params: str) -> list[dict[str, str]]:
    response = gateway.client.get(PATH, headers=CSV, params=params)
    assert response.headers["content-type"] == "text/csv; charset=utf-8"
    return list(csv.DictReader(io.StringIO(response.text, newline="")))


def test_it_has_every_agent_and_every_capability_of_it(gateway: Gateway, matrix: Any) -> None:
    assert set(matrix["agents"]) == {agent["id"] for agent in gateway.client.get("/agents").json()["agents"]}
    for name in ("demo", "echo", "gemini"):
        values = flatten(gateway.client.get(f"/agents/{name}/capabilities").json())
        assert {path: cells[name] for path, cells in matrix["leaves"].items() if name in cells} == values


def test_what_is_unknown_is_left_out(matrix: Any) -> None:
    assert matrix["leaves"]["reasoning.supported"]["demo"] is True
    assert matrix["leaves"]["reasoning.supported"]["echo"] is False
    assert "echo" not in matrix["leaves"]["multiAgent.subagents"]
    assert list(matrix["leaves"]) == sorted(matrix["leaves"])


def test_it_says_who_said_it(gateway: Gateway) -> None:
    cell = gateway.client.get(PATH, params={"explain": "1"}).json()["leaves"]["reasoning.supported"]["echo"]
    assert (cell["value"], cell["layer"], cell["source"]) == (False, "profile", "echo.toml")


def test_it_is_a_table_for_a_client_that_wants_one(gateway: Gateway, matrix: Any) -> None:
    table = {row["capability"]: row for row in rows(gateway)}
    assert table.keys() == matrix["leaves"].keys()
    for path, cells in matrix["leaves"].items():
        found = {name: json.loads(cell) for name, cell in table[path].items() if name != "capability" and cell}
        assert found == cells


def test_the_table_says_who_said_it_too(gateway: Gateway) -> None:
    [row] = [row for row in rows(gateway, explain="1") if row["capability"] == "reasoning.supported"]
    assert (row["echo"], row["echo: stated by"]) == ("false", "profile (echo.toml)")


@pytest.mark.parametrize("headers", [{}, CSV])
def test_a_client_that_has_it_is_answered_not_modified(gateway: Gateway, headers: dict[str, str]) -> None:
    first = gateway.client.get(PATH, headers=headers)
    again = gateway.client.get(PATH, headers=headers | {"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert gateway.client.get(PATH, headers=headers | {"if-none-match": '"other"'}).content == first.content
