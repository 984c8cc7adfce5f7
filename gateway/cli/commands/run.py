"""`agui-gateway run`: a conversation with an agent in this terminal.

In: a prompt and options. Out: the run as it goes, and an exit code: 0 finished, 1 failed, 130 cancelled. It speaks
AG-UI over HTTP like any other client: to a gateway that it starts itself, or with --url to a running one.
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

from gateway.cli.agent_options import agents_options, catalog_for, find_agent, settings_for, working_directory
from gateway.cli.chat import run_input
from gateway.cli.chat.client import GatewayClient
from gateway.cli.chat.conversation import Conversation
from gateway.cli.chat.prompts import InterruptPrompter
from gateway.cli.chat.signals import CtrlC
from gateway.cli.chat.tool_calls import ToolCalls
from gateway.cli.exit import CANCELLED, fail, print_error
from gateway.cli.output.plain_view import JsonLinesView, PlainView, View
from gateway.cli.output.rich_view import RichView
from gateway.cli.output.terminal import console
from gateway.errors import ConfigError, GatewayError
from gateway.settings import Settings
from gateway.web.auth.local_token import read_local_token
from gateway.web.auth.token_file import read_token_file

MEMORY_STORE = "memory:"
LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")
RUN_OPTIONS = ("model", "effort", "mode", "approvals")
"""Flags that are options of the run."""

Message = dict[str, Any]

RUN_HELP = """Talk to an agent in this terminal. A PROMPT of - is read from stdin.

The agent's questions are asked here. Ctrl-C cancels the run; a second Ctrl-C exits at once. In a pipe, only the text of
the answer is printed.

\b
Continue a conversation:   agui-gateway run claude --thread THREAD "and now the tests"
Decide in advance:         agui-gateway run claude --approvals deny "explain this project"
For a program:             agui-gateway run demo --json "tool"
On a running gateway:      agui-gateway run demo --url http://127.0.0.1:8123 "help"
"""


@click.command("run", help=RUN_HELP)
@click.argument("agent")
@click.argument("prompt")
@click.option("--model", help="The model to use.")
@click.option("--effort", type=click.Choice(["low", "medium", "high", "max"]), help="How much the model thinks.")
@click.option("--mode", help="The agent's mode, by its id.")
@click.option(
    "--approvals", type=click.Choice(["prompt", "auto", "deny"]), help="Ask before tools run, allow all, or deny all."
)
@click.option("--cwd", metavar="DIR", help="The agent's working directory.  [default: the current one]")
@click.option("--trust", is_flag=True, help="Trust the working directory for this command.")
@click.option("--thread", metavar="ID", help="Continue this conversation.")
@click.option("--schema", type=click.Path(path_type=Path), help="A JSON Schema for the answer.")
@click.option("--image", "images", multiple=True, type=click.Path(path_type=Path), help="Attach an image. Repeatable.")
@click.option("--json", "json_", is_flag=True, help="Print AG-UI events, one per line.")
@click.option("--verbose", is_flag=True, help="Show everything, also in a pipe.")
@agents_options
@click.option("--store", metavar="URL", help="Where conversations are kept, as for serve.")
@click.option("--url", help="Use this running gateway.")
@click.option("--token-file", type=click.Path(path_type=Path), help="With --url: send the first token of this file.")
def command(agent: str, prompt: str, schema: Path | None, images: Sequence[Path], **flags: Any) -> None:
    logging.basicConfig(level=logging.WARNING if flags["verbose"] else logging.CRITICAL)
    try:
        message = run_input.build_message(prompt, images)
        options = {name: flags[name] for name in RUN_OPTIONS}
        options |= {"outputSchema": run_input.read_schema(schema)}
        with open_gateway(agent, options, flags) as gateway:
            code = converse(agent, gateway, message, options, flags)
    except KeyboardInterrupt:
        print_error("cancelled")
        code = CANCELLED
    except GatewayError as exc:
        fail(exc)
    sys.exit(code)


@dataclass(frozen=True, slots=True)
class Gateway:
    """The gateway that runs the agent."""

    client: httpx.Client
    is_persistent: bool
    """The conversation can be continued later."""


def converse(agent: str, gateway: Gateway, message: Message, options: dict[str, Any], flags: dict[str, Any]) -> int:
    client = GatewayClient(gateway.client, agent)
    calls = ToolCalls()
    thread = flags["thread"] or f"terminal-{uuid4().hex[:8]}"
    ctrl_c = CtrlC(client.cancel)
    with ctrl_c.installed():
        view = view_for(flags["json_"], flags["verbose"], calls)
        prompter = InterruptPrompter(prompt_console(flags["json_"]), calls)
        conversation = Conversation(client, view, calls, prompter, ctrl_c)
        code = conversation.run_prompt(thread, message, options, is_known=flags["thread"] is not None)
    if gateway.is_persistent and isinstance(view, RichView) and sys.stdout.isatty():
        view.print_note(f"To continue: agui-gateway run {agent} --thread {thread} …")
    return code


def view_for(json_: bool, verbose: bool, calls: ToolCalls) -> View:
    if json_:
        return JsonLinesView()
    return RichView(console(), calls, verbose=verbose) if verbose or sys.stdout.isatty() else PlainView()


def prompt_console(json_: bool) -> Console | None:
    """The console on which the user is asked; None: the user cannot be asked."""
    on_stderr = json_ or not sys.stdout.isatty()
    stream = sys.stderr if on_stderr else sys.stdout
    return console(stderr=on_stderr) if sys.stdin.isatty() and stream.isatty() else None


@contextmanager
def open_gateway(agent: str, options: dict[str, Any], flags: dict[str, Any]) -> Iterator[Gateway]:
    """The gateway in --url, which gets --cwd as an option, or one that is started here in that directory."""
    if flags["url"]:
        if flags["agents"] or flags["acp"] or flags["store"] or flags["trust"]:
            own = "--agents, --acp, --store and --trust"
            raise ConfigError(f"--url: that gateway has its own agents, store and trusted folders; omit {own}")
        options["cwd"] = str(working_directory(flags["cwd"])) if flags["cwd"] else None
        with client_for(flags["url"], flags["token_file"]) as client:
            yield Gateway(client, is_persistent=True)
    else:
        cwd = working_directory(flags["cwd"])
        if not cwd.is_dir():
            raise ConfigError(f"--cwd {cwd}: there is no such directory")
        trust = (cwd,) if flags["trust"] else ()
        settings = settings_for(
            flags["agents"], flags["acp"], flags["config"], workspace=(cwd,), store=flags["store"], trust=trust
        )
        find_agent(catalog_for(settings, lean=True), agent)  # an unknown agent is reported before anything is started
        with ExitStack() as stack:
            yield start_gateway(stack, settings, needs_store=bool(flags["store"] or flags["thread"]))


def start_gateway(stack: ExitStack, settings: Settings, *, needs_store: bool) -> Gateway:
    """Without `needs_store`, a store that another gateway has locked is replaced by memory."""
    from gateway.cli.chat.embedded_gateway import embedded_gateway  # a whole server, which --url does not need

    try:
        client = stack.enter_context(embedded_gateway(settings))
        return Gateway(client, is_persistent=settings.store != MEMORY_STORE)
    except ConfigError:
        if needs_store:
            raise
    in_memory = settings.model_copy(update={"store": MEMORY_STORE})
    return Gateway(stack.enter_context(embedded_gateway(in_memory)), is_persistent=False)


def client_for(url: str, token_file: Path | None) -> httpx.Client:
    try:
        parts = httpx.URL(url)
    except httpx.InvalidURL as exc:
        raise ConfigError(f"--url {url}: {exc}") from exc
    if parts.scheme not in ("http", "https") or not parts.host:
        raise ConfigError(f"--url {url}: write it as http://127.0.0.1:8123")
    is_local = parts.host in LOCAL_HOSTS
    # A proxy of the environment is never used for this machine.
    return httpx.Client(base_url=url, headers=bearer(token_file, is_local=is_local), trust_env=not is_local)


def bearer(token_file: Path | None, *, is_local: bool) -> dict[str, str]:
    """The first token of the file. Without a file, for this machine only: the token that a gateway here has made."""
    if token_file is None:
        token = read_local_token() if is_local else None
        return {} if token is None else {"authorization": f"Bearer {token}"}
    read_token_file(token_file)  # raises with what is wrong in the file
    text = token_file.read_text("utf-8")
    if text.lstrip().startswith("{"):
        detail = f"{token_file}: it has only the hashes of tokens"
        raise ConfigError(f"{detail}; put the token that `agui-gateway token add` printed into a file of its own")
    lines = (line.partition("#")[0].strip() for line in text.splitlines())
    return {"authorization": f"Bearer {next(filter(None, lines)).rpartition(':')[2]}"}
