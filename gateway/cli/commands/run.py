"""`agui-gateway run`: a conversation with an agent in this terminal.

In: what was typed. Out: the run as it goes, and an exit code: 0 it finished, 1 it failed, 130 it was cancelled. It
talks AG-UI over HTTP like any other client: to a gateway of its own, or with --url to one that runs already.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import click
import httpx
from rich.console import Console

from gateway.cli.agent_options import agents_options, catalog_for, chosen, folder, settings_for
from gateway.cli.chat import run_input
from gateway.cli.chat.client import GatewayClient
from gateway.cli.chat.conversation import Conversation
from gateway.cli.chat.prompts import InterruptPrompter
from gateway.cli.chat.signals import CtrlC
from gateway.cli.chat.tool_calls import Calls
from gateway.cli.exit import CANCELLED, complain, fail
from gateway.cli.output.plain_view import Lines, Plain, View
from gateway.cli.output.rich_view import RichView
from gateway.cli.output.terminal import console
from gateway.errors import ConfigError, GatewayError
from gateway.settings import Settings
from gateway.web.tokens import load_tokens

MEMORY = "memory:"
HERE = ("localhost", "127.0.0.1", "::1")

Message = dict[str, Any]

RUN_HELP = """Talk to an agent in this terminal. A PROMPT of - is read from stdin.

Its questions are asked here; Ctrl-C stops it in order, twice at once. Into a pipe goes only the answer's text.

\b
Go on with a conversation:   agui-gateway run claude --thread THREAD "and now the tests"
Decide beforehand:           agui-gateway run claude --approvals deny "explain this project"
For a program:               agui-gateway run demo --json "tool"
On a running gateway:        agui-gateway run demo --url http://127.0.0.1:8123 "help"
"""


@click.command("run", help=RUN_HELP)
@click.argument("agent")
@click.argument("prompt")
@click.option("--model", help="The model to use.")
@click.option("--effort", type=click.Choice(["low", "medium", "high", "max"]), help="How much it thinks.")
@click.option("--mode", help="The agent's mode, by its own name for it.")
@click.option("--approvals", type=click.Choice(["prompt", "auto", "deny"]), help="Who decides about its tools.")
@click.option("--cwd", metavar="DIR", help="Folder to work in.  [default: here]")
@click.option("--thread", metavar="ID", help="Go on with this conversation.")
@click.option("--schema", type=click.Path(path_type=Path), help="JSON Schema that the answer must fit.")
@click.option("--image", "images", multiple=True, type=click.Path(path_type=Path), help="Send along. Repeatable.")
@click.option("--json", "json_", is_flag=True, help="Print AG-UI events, one a line.")
@click.option("--verbose", is_flag=True, help="Show everything, in a pipe too.")
@agents_options
@click.option("--store", metavar="URL", help="Where conversations are kept, as for serve.")
@click.option("--url", help="A running gateway, to use instead of one of its own.")
@click.option("--token-file", type=click.Path(path_type=Path), help="With --url: a file whose first token is sent.")
def command(agent: str, prompt: str, schema: Path | None, images: Sequence[Path], **given: Any) -> None:
    logging.basicConfig(level=logging.WARNING if given["verbose"] else logging.CRITICAL)
    try:
        message = run_input.message(prompt, images)
        asked = {name: given[name] for name in ("model", "effort", "mode", "approvals")}
        asked |= {"outputSchema": run_input.schema(schema)}
        with reached(agent, asked, given) as gateway:
            code = converse(agent, gateway, message, asked, given)
    except KeyboardInterrupt:
        complain("cancelled")
        code = CANCELLED
    except GatewayError as exc:
        fail(exc)
    sys.exit(code)


@dataclass(frozen=True, slots=True)
class Gateway:
    client: httpx.Client
    keeps: bool
    """A conversation can be gone on with later."""


def converse(agent: str, gateway: Gateway, message: Message, asked: dict[str, Any], given: dict[str, Any]) -> int:
    talk, calls = GatewayClient(gateway.client, agent), Calls()
    thread = given["thread"] or f"terminal-{uuid4().hex[:8]}"
    stopper = CtrlC(talk.cancel)
    with stopper.watching():
        view = view_for(given["json_"], given["verbose"], calls)
        conversation = Conversation(talk, view, calls, InterruptPrompter(asking(given["json_"]), calls), stopper)
        code = conversation.hold(thread, message, asked, known=given["thread"] is not None)
    if gateway.keeps and isinstance(view, RichView) and sys.stdout.isatty():
        view.tell(f"go on: agui-gateway run {agent} --thread {thread} …")
    return code


def view_for(json_: bool, verbose: bool, calls: Calls) -> View:
    if json_:
        return Lines()
    return RichView(console(), calls, whole=verbose) if verbose or sys.stdout.isatty() else Plain()


def asking(json_: bool) -> Console | None:
    """Where a question is seen and a key can be pressed; None: nowhere."""
    aside = json_ or not sys.stdout.isatty()
    seen = sys.stderr if aside else sys.stdout
    return console(stderr=aside) if sys.stdin.isatty() and seen.isatty() else None


@contextmanager
def reached(agent: str, asked: dict[str, Any], given: dict[str, Any]) -> Iterator[Gateway]:
    """The gateway that was named, or one of our own. What the folder to work in means depends on which."""
    if given["url"]:
        if given["agents"] or given["acp"] or given["store"]:
            raise ConfigError("--url: that gateway has its own agents and store; leave out --agents, --acp and --store")
        asked["cwd"] = str(folder(given["cwd"])) if given["cwd"] else None
        with client_for(given["url"], given["token_file"]) as client:
            yield Gateway(client, keeps=True)
    else:
        work = folder(given["cwd"])
        if not work.is_dir():
            raise ConfigError(f"--cwd {work}: there is no such folder")
        settings = settings_for(given["agents"], given["acp"], workspace=(work,), store=given["store"])
        chosen(catalog_for(settings, lean=True), agent)  # an agent that is not there is told before anything is started
        with ExitStack() as stack:
            yield own_gateway(stack, settings, may_forget=not (given["store"] or given["thread"]))


def own_gateway(stack: ExitStack, settings: Settings, *, may_forget: bool) -> Gateway:
    """`may_forget`: where the store cannot be had, a gateway that serves now has it, memory will do."""
    from gateway.cli.chat.embedded_gateway import hosted  # a whole server: a client of another gateway does without

    private = settings.model_copy(update={"token_file": None})
    try:
        return Gateway(stack.enter_context(hosted(private)), keeps=private.store != MEMORY)
    except ConfigError:
        if not may_forget:
            raise
    forgetting = private.model_copy(update={"store": MEMORY})
    return Gateway(stack.enter_context(hosted(forgetting)), keeps=False)


def client_for(url: str, token_file: Path | None) -> httpx.Client:
    parts = httpx.URL(url)
    if parts.scheme not in ("http", "https") or not parts.host:
        raise ConfigError(f"--url {url}: write it as http://127.0.0.1:8123")
    # A proxy leads out of here, and never back to this machine.
    return httpx.Client(base_url=url, headers=bearer(token_file), trust_env=parts.host not in HERE)


def bearer(token_file: Path | None) -> dict[str, str]:
    if token_file is None:
        return {}
    load_tokens(token_file)  # says what is wrong with it
    lines = (line.partition("#")[0].strip() for line in token_file.read_text("utf-8").splitlines())
    return {"authorization": f"Bearer {next(filter(None, lines)).rpartition(':')[2]}"}
