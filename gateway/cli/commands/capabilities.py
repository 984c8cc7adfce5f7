"""`agui-gateway capabilities`: what an agent can do and who says so, or where several differ.

In: agents' names. Out: a tree, a table, or the JSON of `GET /agents/{agent}/capabilities`. It asks that very route:
of a gateway of its own, which keeps nothing, or with --url of one that runs already.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any
from urllib.parse import quote

import click
import httpx
import orjson

from gateway.cli.agent_options import agents_options, catalog_for, chosen, settings_for
from gateway.cli.chat.client import ANSWER_LIMIT, CONNECT_LIMIT, check_answer, telling
from gateway.cli.commands.run import MEMORY, client_for
from gateway.cli.exit import CANCELLED, complain, fail
from gateway.cli.output.capability_rows import leaves, side_by_side
from gateway.cli.output.capability_table import in_colours, show_all, show_one
from gateway.cli.output.terminal import console
from gateway.errors import ConfigError, GatewayError

PROBE_LIMIT = 90.0
"""Longer than the gateway itself waits for an agent: it then says what went wrong."""

BRIEF = {"store": MEMORY, "watch": False, "shutdown_grace": 0.0, "cancel_grace": 0.0}
"""Of a gateway that answers a question or two: it has no runs to wait for, and Ctrl-C should not wait either."""

HELP = """Show what an agent can do, or where several differ. Nobody knows what is not there, or is shown as a dot.

\b
Who says so, when, against whom:   agui-gateway capabilities claude --explain
From the agent itself:             agui-gateway capabilities claude --probe
Side by side:                      agui-gateway capabilities claude codex gemini
"""


@click.command("capabilities", help=HELP)
@click.argument("names", metavar="AGENT [AGENT2]...", nargs=-1, required=True)
@click.option("--explain", is_flag=True, help="With who said it, when, and what it overridden.")
@click.option("--probe", is_flag=True, help="Start the agent first, and let it speak for itself.")
@click.option("--model", help="With this model's own limits.")
@click.option("--view", default="agui", metavar="NAME", help="Whose words: agui, acp, mux or relay.  [default: agui]")
@click.option("--all", "every", is_flag=True, help="Of several agents: also what does not differ.")
@click.option("--json", "json_", is_flag=True, help="Print what the HTTP route gives.")
@agents_options
@click.option("--url", help="A running gateway, to ask instead of one of its own.")
@click.option("--token-file", type=click.Path(path_type=Path), help="With --url: a file whose first token is sent.")
def command(names: Sequence[str], every: bool, json_: bool, **given: Any) -> None:
    logging.basicConfig(level=logging.CRITICAL)
    names = list(dict.fromkeys(names))
    try:
        asked = query(given)
        waiting = progress(names) if given["probe"] and not json_ else nullcontext()
        with waiting, reached(names, given) as client:
            bodies = {name: fetch(client, name, asked) for name in names}
    except KeyboardInterrupt:
        complain("cancelled")
        sys.exit(CANCELLED)
    except GatewayError as exc:
        fail(exc)
    if json_:
        click.echo(as_given(bodies))
    else:
        show(bodies, given["view"], explained=given["explain"], every=every)


def query(given: dict[str, Any]) -> dict[str, str]:
    """What was really asked for: without any of it the route answers as it answers everybody."""
    if given["explain"] and given["view"] != "agui":
        raise ConfigError(f"--explain: only AG-UI's own capabilities are explained; leave out --view {given['view']}")
    flags = {name: "1" for name in ("explain", "probe") if given[name]}
    model = {} if given["model"] is None else {"model": given["model"]}
    return flags | model | ({} if given["view"] == "agui" else {"view": given["view"]})


@contextmanager
def reached(names: Sequence[str], given: dict[str, Any]) -> Iterator[httpx.Client]:
    """The gateway that was named, or one of our own."""
    if given["url"]:
        if given["agents"] or given["acp"]:
            raise ConfigError("--url: that gateway has its own agents; leave out --agents and --acp")
        with client_for(given["url"], given["token_file"]) as client:
            yield client
        return
    from gateway.cli.chat.embedded_gateway import hosted  # a whole server: a client of another gateway does without

    settings = settings_for(given["agents"], given["acp"], **BRIEF)
    catalog = catalog_for(settings, lean=True)
    for name in names:
        chosen(catalog, name)  # an agent that is not there is told before anything is started
    with hosted(settings.model_copy(update={"token_file": None})) as client:
        yield client


def progress(names: Sequence[str]) -> AbstractContextManager[Any]:
    """Something that moves: a start takes seconds."""
    return console().status(f"starting {', '.join(names)}") if in_colours() else nullcontext()


def fetch(client: httpx.Client, name: str, asked: dict[str, str]) -> bytes:
    limit = httpx.Timeout(PROBE_LIMIT if "probe" in asked else ANSWER_LIMIT, connect=CONNECT_LIMIT)
    try:
        with telling():
            answer = client.get(f"/agents/{quote(name, safe='')}/capabilities", params=asked, timeout=limit)
        check_answer(answer)
    except GatewayError as exc:
        raise GatewayError(f"{name}: {exc.detail}", code=exc.code) from exc
    if not _is_ours(answer, explained="explain" in asked):
        raise GatewayError(f"{answer.request.url} answers something else: is that an agui-gateway?")
    return answer.content


def _is_ours(answer: httpx.Response, *, explained: bool) -> bool:
    try:
        body = orjson.loads(answer.content)
    except ValueError:
        return False
    return isinstance(body, dict) and (not explained or {"capabilities", "explain"} <= body.keys())


def as_given(bodies: dict[str, bytes]) -> bytes:
    """The route's own bytes; of several agents an object with each one's."""
    if len(bodies) == 1:
        return next(iter(bodies.values()))
    return b"{%b}" % b",".join(orjson.dumps(name) + b":" + body for name, body in bodies.items())


def show(bodies: dict[str, bytes], view: str, *, explained: bool, every: bool) -> None:
    found = {name: leaves(orjson.loads(body), explained=explained) for name, body in bodies.items()}
    if len(found) > 1:
        show_all(list(found), side_by_side(list(found.values())), every=every)
    else:
        [(name, its)] = found.items()
        show_one(name, its, view, explained=explained) if its else complain(f"{name} says nothing in the view {view!r}")
