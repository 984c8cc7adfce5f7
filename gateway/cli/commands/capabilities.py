"""`agui-gateway capabilities`: an agent's capabilities and their sources, or a comparison of several agents.

In: agents' names. Out: a tree, a table, or the JSON of `GET /agents/{agent}/capabilities`. It calls that route: of a
gateway that it starts itself and that stores nothing, or with --url of a running one.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

import click
import httpx
import orjson

from gateway.cli.agent_options import agents_options, catalog_for, find_agent, settings_for
from gateway.cli.chat.client import (
    CONNECT_TIMEOUT_SECONDS,
    RESPONSE_TIMEOUT_SECONDS,
    check_response,
    translate_errors,
)
from gateway.cli.commands.run import MEMORY_STORE, client_for
from gateway.cli.exit import CANCELLED, fail, print_error
from gateway.cli.output.capability_rows import compare, read_rows
from gateway.cli.output.capability_table import has_colours, print_capabilities, print_comparison
from gateway.cli.output.terminal import console
from gateway.errors import ConfigError, GatewayError

PROBE_TIMEOUT_SECONDS = 90.0
"""Longer than the gateway itself waits for an agent, so that its error arrives."""

SHORT_LIVED = {"store": MEMORY_STORE, "watch": False, "shutdown_grace": 0.0, "cancel_grace": 0.0}
"""Settings of a gateway that answers a few requests: it has no runs to wait for."""

HELP = """Show an agent's capabilities, or compare several agents.

A capability that is missing is unknown; in a comparison it is a dot.

\b
With sources and times:   agui-gateway capabilities claude --explain
From the agent itself:    agui-gateway capabilities claude --probe
Compare agents:           agui-gateway capabilities claude codex gemini
"""


@click.command("capabilities", help=HELP)
@click.argument("names", metavar="AGENT [AGENT2]...", nargs=-1, required=True)
@click.option("--explain", is_flag=True, help="Show the source of each value, its time, and what it has overridden.")
@click.option("--probe", is_flag=True, help="Start the agent first, so that it reports its own capabilities.")
@click.option("--model", help="Show the limits of this model.")
@click.option("--view", default="agui", metavar="NAME", help="Vocabulary: agui, acp, mux or relay.  [default: agui]")
@click.option("--all", "show_equal", is_flag=True, help="In a comparison, also show what does not differ.")
@click.option("--json", "json_", is_flag=True, help="Print the JSON of the HTTP route.")
@agents_options
@click.option("--url", help="Use this running gateway.")
@click.option("--token-file", type=click.Path(path_type=Path), help="With --url: send the first token of this file.")
def command(names: Sequence[str], show_equal: bool, json_: bool, **flags: Any) -> None:
    logging.basicConfig(level=logging.CRITICAL)
    names = list(dict.fromkeys(names))
    try:
        query = read_query(flags)
        status = progress(names) if flags["probe"] and not json_ else nullcontext()
        with status, open_client(names, flags) as client:
            bodies = {name: fetch(client, name, query) for name in names}
    except KeyboardInterrupt:
        print_error("cancelled")
        sys.exit(CANCELLED)
    except GatewayError as exc:
        fail(exc)
    if json_:
        click.echo(join_bodies(bodies))
    else:
        print_bodies(bodies, flags["view"], explained=flags["explain"], show_equal=show_equal)


def read_query(flags: dict[str, Any]) -> dict[str, str]:
    """The route's parameters, only those that the user has set."""
    if flags["explain"] and flags["view"] != "agui":
        raise ConfigError(f"--explain works only with AG-UI's own capabilities; omit --view {flags['view']}")
    switches = {name: "1" for name in ("explain", "probe") if flags[name]}
    model = {} if flags["model"] is None else {"model": flags["model"]}
    return switches | model | ({} if flags["view"] == "agui" else {"view": flags["view"]})


@contextmanager
def open_client(names: Sequence[str], flags: dict[str, Any]) -> Iterator[httpx.Client]:
    """A client of the gateway in --url, or of one that is started here."""
    if flags["url"]:
        if flags["agents"] or flags["acp"]:
            raise ConfigError("--url: that gateway has its own agents; omit --agents and --acp")
        with client_for(flags["url"], flags["token_file"]) as client:
            yield client
        return
    from gateway.cli.chat.embedded_gateway import embedded_gateway  # a whole server, which --url does not need

    settings = settings_for(flags["agents"], flags["acp"], flags["config"], **SHORT_LIVED)
    catalog = catalog_for(settings, lean=True)
    for name in names:
        find_agent(catalog, name)  # an unknown agent is reported before anything is started
    with (
        TemporaryDirectory(prefix="agui-gateway-") as folder,  # no session works anywhere
        embedded_gateway(settings.model_copy(update={"workspace": (Path(folder),)})) as client,
    ):
        yield client


def progress(names: Sequence[str]) -> AbstractContextManager[Any]:
    """A spinner: starting an agent takes seconds."""
    return console().status(f"starting {', '.join(names)}") if has_colours() else nullcontext()


def fetch(client: httpx.Client, name: str, query: dict[str, str]) -> bytes:
    seconds = PROBE_TIMEOUT_SECONDS if "probe" in query else RESPONSE_TIMEOUT_SECONDS
    timeout = httpx.Timeout(seconds, connect=CONNECT_TIMEOUT_SECONDS)
    try:
        with translate_errors():
            address = f"/agents/{quote(name, safe='')}"
            if "probe" in query:
                require_program(client.get(address, timeout=timeout))
            response = client.get(f"{address}/capabilities", params=query, timeout=timeout)
        check_response(response)
    except GatewayError as exc:
        raise GatewayError(f"{name}: {exc.detail}", code=exc.code) from exc
    if not _is_capabilities(response, explained="explain" in query):
        raise GatewayError(f"{response.request.url} does not answer like an agui-gateway. Is the address right?")
    return response.content


def require_program(response: httpx.Response) -> None:
    """Raises `GatewayError` where there is nothing to start."""
    check_response(response)
    availability = orjson.loads(response.content).get("availability", {})
    if availability.get("status") == "not-installed":
        hint = f". Install it: {availability['hint']}" if availability.get("hint") else ""
        raise GatewayError(f"{availability.get('reason', 'it is not installed')}{hint}", code="AGENT_NOT_INSTALLED")


def _is_capabilities(response: httpx.Response, *, explained: bool) -> bool:
    try:
        body = orjson.loads(response.content)
    except ValueError:
        return False
    return isinstance(body, dict) and (not explained or {"capabilities", "explain"} <= body.keys())


def join_bodies(bodies: dict[str, bytes]) -> bytes:
    """The route's own bytes; for several agents an object with each one's."""
    if len(bodies) == 1:
        return next(iter(bodies.values()))
    return b"{%b}" % b",".join(orjson.dumps(name) + b":" + body for name, body in bodies.items())


def print_bodies(bodies: dict[str, bytes], view: str, *, explained: bool, show_equal: bool) -> None:
    agents = {name: read_rows(orjson.loads(body), explained=explained) for name, body in bodies.items()}
    if len(agents) > 1:
        print_comparison(list(agents), compare(list(agents.values())), show_equal=show_equal)
        return
    [(name, rows)] = agents.items()
    if rows:
        print_capabilities(name, rows, view, explained=explained)
    else:
        print_error(f"{name} has no capabilities in the view {view!r}")
