"""`agui-gateway models`: the models in an agent's file, their prices, and which model a name means; with `refresh` how
many models the agents themselves list."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import click

from gateway.catalog.models.definition import Model
from gateway.catalog.models.prices import Tokens, format_amount
from gateway.catalog.models.registry import ModelRegistry
from gateway.cli.agent_options import agents_options, catalog_for, find_agent, settings_for
from gateway.cli.exit import CANCELLED, FAILED, fail, print_error
from gateway.cli.output.terminal import align, as_json, console
from gateway.errors import ConfigError, GatewayError

HEADINGS = ("model", "alias", "window", "in", "cached", "out", "effort", "")
"""Prices are US dollars per million tokens."""
REFRESH_HEADINGS = ("agent", "models", "")
REFRESH = "refresh"
"""Where an agent is named: ask the agents themselves."""

HELP = """Show an agent's models: context window, prices in US dollars per million tokens, effort levels.

With MODEL, an id or an alias, show only that model.

\b
Ask all agents for their models:  agui-gateway models refresh
Ask one agent:                    agui-gateway models refresh AGENT
Of a running gateway:             agui-gateway models refresh --url http://127.0.0.1:8123
"""


@click.command("models", help=HELP)
@click.argument("agent")
@click.argument("model", required=False)
@click.option("--cost", "tokens", metavar="IN,OUT", help="Calculate the cost of so many tokens with MODEL.")
@agents_options
@click.option("--json", "json_", is_flag=True, help="Print JSON.")
@click.option("--url", help="With refresh: the running gateway that takes the lists over.")
@click.option("--token-file", type=click.Path(path_type=Path), help="With --url: send the first token of this file.")
def command(
    agent: str,
    model: str | None,
    tokens: str | None,
    agents: Sequence[str],
    acp: Sequence[str],
    config: Path | None,
    json_: bool,
    url: str | None,
    token_file: Path | None,
) -> None:
    if agent == REFRESH:
        flags = {"agents": agents, "acp": acp, "config": config, "url": url, "token_file": token_file}
        refresh(model, flags, json_)
        return
    try:
        if url is not None:
            raise ConfigError("--url is for `agui-gateway models refresh`: the models shown here are those of the file")
        registry = ModelRegistry(find_agent(catalog_for(settings_for(agents, acp, config)), agent))
        counts = None if tokens is None else parse_tokens(tokens)
        if model is None and counts is not None:
            raise ConfigError("--cost needs a model: agui-gateway models AGENT MODEL --cost IN,OUT")
    except GatewayError as exc:
        fail(exc)
    if model is not None:
        print_model(registry, model, counts, json_)
    elif json_:
        click.echo(as_json(registry.to_json()))
    else:
        print_models(agent, registry)


def refresh(agent: str | None, flags: dict[str, Any], json_: bool) -> None:
    """Of all agents, or of one. The command fails if a named agent cannot list its models."""
    from gateway.cli.commands.capabilities import open_client  # a whole server, which the other uses do not need
    from gateway.cli.model_refresh import list_agents, refresh_models, show_progress

    logging.basicConfig(level=logging.CRITICAL)
    try:
        with open_client([] if agent is None else [agent], flags) as client:
            names = list_agents(client) if agent is None else [agent]
            with show_progress(len(names)) as on_result:
                results = refresh_models(client, names, on_result)
    except KeyboardInterrupt:
        print_error("cancelled")
        sys.exit(CANCELLED)
    except GatewayError as exc:
        fail(exc)
    if json_:
        click.echo(as_json({"agents": [result.to_json() for result in results]}))
    else:
        click.echo("\n".join(align([REFRESH_HEADINGS, *(result.to_row() for result in results)])))
    if agent is not None and results[0].count is None:
        sys.exit(FAILED)


def parse_tokens(text: str) -> Tokens:
    """`12000,800`: input and output."""
    input_, comma, output = text.partition(",")
    if not comma or not input_.strip().isdigit() or not output.strip().isdigit():
        raise ConfigError(f"--cost {text}: give two numbers of tokens, input and output: --cost 12000,800")
    return Tokens(input=int(input_), output=int(output))


def print_models(agent: str, registry: ModelRegistry) -> None:
    models = registry.models()
    if not models:
        print_error(f"the file of {agent!r} lists no models: the agent uses the model of its own configuration")
        return
    rows = [to_row(registry, model) for model in models]
    if not sys.stdout.isatty():
        click.echo("\n".join(align([HEADINGS, *rows])))
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for heading in HEADINGS:
        is_number = heading in ("window", "in", "cached", "out")
        table.add_column(heading, justify="right" if is_number else "left", overflow="fold")
    for cells in rows:
        table.add_row(*cells, style="dim" if cells[-1].startswith("deprecated") else None)
    console().print(table, soft_wrap=False)


def to_row(registry: ModelRegistry, model: Model) -> tuple[str, ...]:
    window = f"{model.context:,}" if model.context else ""
    prices = (model.price.input, model.price.cached_input, model.price.output)
    levels = " ".join(registry.describe(model).get("thinkingEffortLevels", ()))
    return model.id, ", ".join(model.aliases), window, *map(_format_price, prices), levels, _remark(registry, model)


def _remark(registry: ModelRegistry, model: Model) -> str:
    if model.deprecated:
        since = "" if model.deprecated is True else f" since {model.deprecated}"
        return f"deprecated{since}" + (f", use {model.successor}" if model.successor else "")
    return "default" if registry.default() is model else ""


def print_model(registry: ModelRegistry, name: str, tokens: Tokens | None, json_: bool) -> None:
    verdict = registry.validate(name)
    if verdict.model is None:
        print_error(verdict.message)
        sys.exit(FAILED)
    facts = {**registry.describe(verdict.model), "isDefault": verdict.model is registry.default()}
    if tokens is not None:
        facts = registry.cost_json(verdict.model, tokens)
    if json_:
        click.echo(as_json(facts))
        return
    if verdict.status == "deprecated":
        print_error(verdict.message)
    click.echo("\n".join(align([(key, _format_value(value)) for key, value in facts.items() if key != "unknown"])))


def _format_price(price: Decimal | None) -> str:
    return "" if price is None else format_amount(price)


def _format_value(value: Any) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case list() | tuple():
            return " ".join(map(str, value))
        case dict():
            return ", ".join(f"{key} {item}" for key, item in value.items())
        case _:
            return str(value)
