"""`python -m tests.live.record_tools ID…` writes `agents/tools/ID.json`: the tools that a real agent offers its model.

In: a recipe of `agents.toml`. Out: for every tool its name, the JSON Schema of its arguments and a short description,
read from the requests that the scripted model server received; for every mode the names, where they differ. The
descriptions are our own: one that stands in the file stays as it is, a new tool gets the beginning of its first
sentence, to be rewritten by hand.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from gateway.catalog.load import bundled, load_file
from gateway.catalog.recorded_tools import FOLDER
from tests.fakes.model_server.server import ModelServer
from tests.live.harness import bundled_behind_gateway
from tests.support.gateway import Gateway, run_input

MAX_DESCRIPTION_CHARS = 200
LIMIT_SECONDS = 120.0
KEPT_KEYS = frozenset(
    (
        *("type", "properties", "required", "items", "enum", "const", "anyOf", "oneOf", "allOf", "minimum", "maximum"),
        *("minItems", "maxItems", "minLength", "maxLength", "pattern", "format", "default", "additionalProperties"),
        *("exclusiveMinimum", "exclusiveMaximum", "nullable", "propertyNames", "$ref", "$defs", "definitions"),
    )
)
"""Keywords of a schema that say what is valid. Titles, descriptions and examples are the agent's prose."""
FREE_TEXT = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}
"""The arguments of a tool that takes a text in a grammar of its own."""

Schema = dict[str, Any]


def offered_tools(requests: list[dict[str, Any]]) -> dict[str, tuple[str, Schema]]:
    """Name → description and schema, of the request with the most tools: others are for titles and summaries."""
    lists = [dict(_read_tools(request["body"].get("tools"))) for request in requests if _is_object(request["body"])]
    return max(lists, key=len, default={})


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _read_tools(tools: Any) -> Iterator[tuple[str, tuple[str, Schema]]]:
    """Of all four providers' formats."""
    for tool in tools or ():
        for each in tool.get("functionDeclarations") or [tool.get("function") or tool]:
            schema = next((each[key] for key in SCHEMA_KEYS if each.get(key)), FREE_TEXT)
            if (name := each.get("name") or each.get("type")) is not None:
                yield name, (each.get("description") or "", keep_keywords(schema))


SCHEMA_KEYS = ("input_schema", "parametersJsonSchema", "parameters")


def keep_keywords(schema: Any) -> Any:
    """The schema without prose. Gemini writes types in capitals."""
    if isinstance(schema, list):
        return [keep_keywords(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    kept: dict[str, Any] = {}
    for key, value in schema.items():
        if key in ("properties", "$defs", "definitions"):
            kept[key] = {name: keep_keywords(each) for name, each in value.items()}
        elif key == "type":
            kept[key] = value.lower() if isinstance(value, str) else value
        elif key in KEPT_KEYS:
            kept[key] = value if key in ("enum", "const", "default", "required") else keep_keywords(value)
    return kept


def first_sentence(description: str) -> str:
    sentence = re.split(r"(?<=[.!?])\s|\n", description.strip())[0]
    return sentence if len(sentence) <= MAX_DESCRIPTION_CHARS else f"{sentence[: MAX_DESCRIPTION_CHARS - 1]}…"


def record(name: str, models: ModelServer, gateway: Gateway) -> dict[str, Any]:
    """The content of the file, without descriptions of our own."""
    definition = load_file(bundled() / f"{name}.toml")
    by_mode: dict[str, dict[str, tuple[str, Schema]]] = {}
    snapshot = _run(name, gateway, "first", {})
    by_mode[""] = offered_tools(models.requests())
    for mode in snapshot["custom"]["session"].get("modes", {}).get("available", ()):
        models.forget()
        _run(name, gateway, f"mode-{len(by_mode)}", {"gateway": {"mode": mode["id"]}})
        by_mode[mode["id"]] = offered_tools(models.requests())
    tools = {tool: said for each in by_mode.values() for tool, said in each.items()}
    first = list(by_mode.pop(""))
    return {
        "agent": name,
        "version": snapshot["identity"]["version"],
        "transport": definition.driver if definition.cli is None else definition.cli.dialect,
        "names": first,
        "modes": {mode: list(each) for mode, each in by_mode.items() if set(each) != set(first)},
        "tools": tools,
    }


def _run(name: str, gateway: Gateway, thread: str, props: Mapping[str, Any]) -> dict[str, Any]:
    response = gateway.post(name, run_input("hello", threadId=thread, forwardedProps=props))
    assert response.status_code == 200, response.text
    snapshot: dict[str, Any] = gateway.client.get(f"/agents/{name}/capabilities?thread={thread}").json()
    return snapshot


def with_descriptions(recorded: dict[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """`known`: the file as it is."""
    old = known.get("tools", {})
    tools = {
        tool: {
            "description": old.get(tool, {}).get("description") or first_sentence(description),
            "parameters": schema,
        }
        for tool, (description, schema) in recorded["tools"].items()
    }
    return {**recorded, "tools": dict(sorted(tools.items()))}


def write(name: str) -> Path:
    file = bundled() / FOLDER / f"{name}.json"
    known = json.loads(file.read_text("utf-8")) if file.is_file() else {}
    with (
        ModelServer() as models,
        tempfile.TemporaryDirectory() as home,
        bundled_behind_gateway(name, models.url, Path(home)) as gateway,
    ):
        gateway.client.timeout = LIMIT_SECONDS
        found = with_descriptions(record(name, models, gateway), known)
    file.parent.mkdir(exist_ok=True)
    head = {key: value for key, value in found.items() if key != "tools"}
    lines = [f"  {json.dumps(tool)}: {json.dumps(value)}" for tool, value in found["tools"].items()]
    rows = [f" {json.dumps(key)}: {json.dumps(value)}," for key, value in head.items()]
    file.write_text("\n".join(["{", *rows, ' "tools": {', ",\n".join(lines), " }", "}", ""]))
    return file


if __name__ == "__main__":
    for agent in sys.argv[1:]:
        print(write(agent))
