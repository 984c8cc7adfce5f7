"""What a server says its tools are, made bounded; and how much it may say."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.drivers.mcp_client.byte_budget import BURST_BYTES, LINE_COST_BYTES, RATE_BYTES_PER_SECOND, ByteBudget
from gateway.drivers.mcp_client.server_config import ServerUnusable
from gateway.drivers.mcp_client.tool_list import (
    MAX_DESCRIPTION_CHARS,
    MAX_LIST_BYTES,
    MAX_SCHEMA_BYTES,
    MAX_TOOLS,
    ToolCollector,
    ToolList,
    truncate_page,
)


def gathered(*pages: list[dict[str, Any]]) -> ToolList:
    found = ToolCollector()
    for page in pages:
        found.add(page)
    return found.to_list()


def tool(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "inputSchema": {"type": "object"}, **more}


def nested(levels: int) -> dict[str, Any]:
    return {"a": nested(levels - 1)} if levels else {}


def test_a_tool_keeps_what_a_client_can_use() -> None:
    marks = {"readOnlyHint": True, "title": "not a mark"}
    [found] = gathered([tool("add", description="Adds.", title="Sum", annotations=marks, outputSchema={})]).tools
    assert found == {
        "name": "add",
        "description": "Adds.",
        "parameters": {"type": "object"},
        "title": "Sum",
        "annotations": {"readOnlyHint": True},
    }


def test_pages_are_joined_and_a_name_is_listed_once() -> None:
    found = gathered([tool("add"), tool("sub")], [tool("sub", description="again"), tool("mul")])
    assert [one["name"] for one in found.tools] == ["add", "sub", "mul"]
    assert found.tools[1]["description"] == ""
    assert found.complete


def test_the_number_of_tools_is_bounded_and_a_longer_list_is_marked() -> None:
    found = gathered([tool(f"tool{number}") for number in range(10_000)])
    assert (len(found.tools), found.complete) == (MAX_TOOLS, False)


def test_only_so_much_is_kept() -> None:
    found = gathered([tool(f"tool{number}", description="x" * MAX_DESCRIPTION_CHARS) for number in range(MAX_TOOLS)])
    assert MAX_LIST_BYTES // MAX_DESCRIPTION_CHARS - 2 < len(found.tools) < MAX_TOOLS
    assert not found.complete


def test_a_page_of_thousands_is_cut_before_anybody_reads_it() -> None:
    tools = [tool(f"tool{number}") for number in range(10_000)]
    message = {"jsonrpc": "2.0", "id": 1, "result": {"tools": tools, "more": 1}}
    short = truncate_page(message)["result"]
    assert (len(short["tools"]), short["more"]) == (MAX_TOOLS + 1, 1)
    assert not gathered(short["tools"]).complete
    assert len(tools) == 10_000


@pytest.mark.parametrize(
    "schema",
    [{"x": "y" * MAX_SCHEMA_BYTES}, nested(300), {"const": 2**70}, {"const": "\ud800"}, ["no object"], None],
    ids=["long", "deep", "large number", "half a character", "a list", "none"],
)
def test_a_schema_that_no_snapshot_can_carry_is_left_out(schema: Any) -> None:
    [found] = gathered([tool("add", description="Adds.", inputSchema=schema)]).tools
    assert found == {"name": "add", "description": "Adds."}


@pytest.mark.parametrize("name", [None, 7, "", "x" * 1000, "\ud800"])
def test_a_tool_without_a_usable_name_is_left_out(name: Any) -> None:
    assert gathered([tool(name), tool("add")]).tools == gathered([tool("add")]).tools


def test_a_long_description_is_cut() -> None:
    [found] = gathered([tool("add", description="x" * 100_000)]).tools
    assert len(found["description"]) == MAX_DESCRIPTION_CHARS


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_flood_is_ended() -> None:
    budget = ByteBudget(Clock())
    budget.spend(b"x" * BURST_BYTES)
    with pytest.raises(ServerUnusable, match="floods"):
        budget.spend(b"x")


def test_many_small_messages_are_a_flood_too() -> None:
    budget, fit = ByteBudget(Clock()), BURST_BYTES // (LINE_COST_BYTES + 1)
    budget.spend(b"\n" * fit)
    with pytest.raises(ServerUnusable, match="floods"):
        budget.spend(b"\n")


def test_who_is_slow_enough_may_go_on_for_ever() -> None:
    clock = Clock()
    budget = ByteBudget(clock)
    for _ in range(1000):
        clock.now += 1
        budget.spend(b"x" * RATE_BYTES_PER_SECOND)
