"""`agui-gateway models`: the models that an agent's file knows, what they cost, what a name means."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import click

from gateway.catalog.models.definition import Model
from gateway.catalog.models.prices import Tokens, calculate_cost, format_amount
from gateway.catalog.models.registry import ModelRegistry
from gateway.cli.agent_options import agents_options, catalog_for, chosen, settings_for
from gateway.cli.exit import FAILED, complain, fail
from gateway.cli.output.terminal import aligned, as_json, console
from gateway.errors import ConfigError, GatewayError

HEADINGS = ("model", "alias", "window", "in", "cached", "out", "effort", "")
"""Prices are US dollars for a million tokens."""


@click.command("models")
@click.argument("agent")
@click.argument("model", required=False)
@click.option("--cost", "tokens", metavar="IN,OUT", help="What so many tokens cost with MODEL.")
@agents_options
@click.option("--json", "json_", is_flag=True, help="Print JSON.")
def command(
    agent: str, model: str | None, tokens: str | None, agents: Sequence[str], acp: Sequence[str], json_: bool
) -> None:
    """Show an agent's models: window, prices in US dollars for a million tokens, levels of effort.

    MODEL shows one, by id, alias or any name that means one.
    """
    try:
        registry = ModelRegistry(chosen(catalog_for(settings_for(agents, acp)), agent))
        counted = None if tokens is None else counts(tokens)
        if model is None and counted is not None:
            raise ConfigError("--cost: of which model? agui-gateway models AGENT MODEL --cost IN,OUT")
    except GatewayError as exc:
        fail(exc)
    if model is None:
        click.echo(as_json(registry.to_json())) if json_ else show_all(agent, registry)
    else:
        show_one(registry, model, counted, json_)


def counts(text: str) -> Tokens:
    given, separator, made = text.partition(",")
    if not separator or not given.strip().isdigit() or not made.strip().isdigit():
        raise ConfigError(f"--cost {text}: two numbers of tokens, input and output: --cost 12000,800")
    return Tokens(input=int(given), output=int(made))


def show_all(agent: str, registry: ModelRegistry) -> None:
    models = registry.models()
    if not models:
        complain(f"the file of {agent!r} lists no models: it takes whatever its own settings name")
        return
    rows = [row(registry, model) for model in models]
    if not sys.stdout.isatty():
        click.echo("\n".join(aligned([HEADINGS, *rows])))
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for heading in HEADINGS:
        right = heading in ("window", "in", "cached", "out")
        table.add_column(heading, justify="right" if right else "left", overflow="fold")
    for cells in rows:
        table.add_row(*cells, style="dim" if cells[-1].startswith("deprecated") else None)
    console().print(table, soft_wrap=False)


def row(registry: ModelRegistry, model: Model) -> tuple[str, ...]:
    told = registry.describe(model)
    window = f"{model.context:,}" if model.context else ""
    prices = (model.price.input, model.price.cached_input, model.price.output)
    levels = " ".join(told.get("thinkingEffortLevels", ()))
    return (model.id, ", ".join(model.aliases), window, *map(_price, prices), levels, remark(registry, model))


def remark(registry: ModelRegistry, model: Model) -> str:
    if model.deprecated:
        since = "" if model.deprecated is True else f" since {model.deprecated}"
        return f"deprecated{since}" + (f", use {model.successor}" if model.successor else "")
    return "default" if registry.default() is model else ""


def show_one(registry: ModelRegistry, name: str, tokens: Tokens | None, json_: bool) -> None:
    verdict = registry.validate(name)
    if verdict.model is None:
        complain(verdict.message)
        sys.exit(FAILED)
    told: dict[str, Any] = {**registry.describe(verdict.model)}
    told |= {"isDefault": verdict.model is registry.default()}
    if tokens is not None:
        told = {
            "agent": told["agent"],
            "modelId": told["modelId"],
            **calculate_cost(verdict.model.price, tokens).to_json(),
        }
    if json_:
        click.echo(as_json(told))
        return
    if verdict.status == "deprecated":
        complain(verdict.message)
    known = {key: value for key, value in told.items() if key != "unknown"}
    click.echo("\n".join(aligned([(key, _word(value)) for key, value in known.items()])))


def _price(price: Decimal | None) -> str:
    return "" if price is None else format_amount(price)


def _word(value: Any) -> str:
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
