"""`agui-gateway token`: makes, lists and revokes the tokens of a token file.

In: names, scopes, agents, a time. Out: the new token, shown once; the file has only its hash. A gateway that runs reads
the file again by itself.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from gateway.cli.exit import fail
from gateway.cli.output.terminal import align
from gateway.configuration import load
from gateway.errors import ConfigError, GatewayError
from gateway.identity import SCOPES
from gateway.settings import data_dir
from gateway.web.auth.token_file import (
    TokenRecord,
    check_name,
    check_scopes,
    hash_token,
    new_token,
    read_token_file,
    to_date,
    write_token_file,
)

FILE_NAME = "tokens.json"
DURATION = re.compile(r"([1-9][0-9]{0,4})([hdwy])")
UNIT_SECONDS = {"h": 3600, "d": 86400, "w": 7 * 86400, "y": 365 * 86400}
HEADINGS = ("name", "scopes", "agents", "expires", "created")

file_option = click.option(
    "--file",
    "path",
    type=click.Path(path_type=Path),
    help="The token file.  [default: the setting token_file, or tokens.json in your data directory]",
)


@click.group("token", short_help="Make, list and revoke tokens.")
def command() -> None:
    """Make, list and revoke the tokens of a token file.

    \b
    agui-gateway token add ann --scope read --scope run --expires 30d
    agui-gateway serve --token-file FILE

    A gateway that runs reads the file again when it changes. What a revoked token has open is closed at once."""


@command.command("add", short_help="Make a token.")
@click.argument("name")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    metavar="SCOPE",
    help=f"One of {', '.join(sorted(SCOPES))}. Repeatable.  [default: read and run]",
)
@click.option(
    "--agent", "agents", multiple=True, metavar="ID", help="An agent that it may use. Repeatable. [default: all]"
)
@click.option("--expires", metavar="TIME", help="For how long it is valid: 12h, 30d, 8w, 1y.  [default: for ever]")
@file_option
def add(name: str, scopes: Sequence[str], agents: Sequence[str], expires: str | None, path: Path | None) -> None:
    """Make a token and print it. It is shown this once: the file has only its hash."""
    try:
        path = _resolve(path)
        records = read_token_file(path) if path.exists() else []
        if any(record.name == check_name(name) for record in records):
            raise ConfigError(f"{path}: there is a token {name!r}; revoke it first, or choose another name")
        token = new_token()
        now = time.time()
        record = TokenRecord(
            name,
            hash_token(token),
            check_scopes(scopes, "--scope"),
            frozenset(agents) or None,
            None if expires is None else now + _parse_duration(expires),
            now,
        )
        write_token_file(path, [*records, record])
    except GatewayError as exc:
        fail(exc)
    click.echo(token)
    scope_names = ", ".join(sorted(record.scopes))
    click.echo(f"{name}: {scope_names}; kept as a hash in {path}. Serve with: --token-file {path}", err=True)


@command.command("list", short_help="List the tokens.")
@file_option
def list_tokens(path: Path | None) -> None:
    """List the tokens, without the tokens themselves."""
    try:
        records = read_token_file(_resolve(path))
    except GatewayError as exc:
        fail(exc)
    click.echo("\n".join(align([HEADINGS, *map(_cells, records)])))


@command.command("revoke", short_help="Revoke a token.")
@click.argument("name")
@file_option
def revoke(name: str, path: Path | None) -> None:
    """Revoke a token. What its principal has open at a running gateway is closed, and its runs are cancelled."""
    try:
        path = _resolve(path)
        records = read_token_file(path)
        if not any(record.name == name for record in records):
            known = ", ".join(record.name for record in records) or "none"
            raise ConfigError(f"{path}: there is no token {name!r}. Known: {known}.")
        write_token_file(path, [record for record in records if record.name != name])
    except GatewayError as exc:
        fail(exc)
    click.echo(f"{name}: revoked in {path}", err=True)


@command.command("hash", short_help="Replace the plain tokens of a file by their hashes.")
@file_option
def hash_file(path: Path | None) -> None:
    """Replace the plain tokens of an older file (`name[read,run]:token`) by their hashes. The tokens stay valid."""
    try:
        path = _resolve(path)
        records = [replace(each, created=each.created or time.time()) for each in read_token_file(path)]
        write_token_file(path, records)
    except GatewayError as exc:
        fail(exc)
    click.echo(f"{path}: {len(records)} token(s), as hashes", err=True)


def _resolve(path: Path | None) -> Path:
    return path or load({}, os.environ).token_file or data_dir() / FILE_NAME


def _parse_duration(text: str) -> float:
    if (match := DURATION.fullmatch(text)) is None:
        raise ConfigError(f"--expires {text}: write it as 12h, 30d, 8w or 1y")
    return float(int(match[1]) * UNIT_SECONDS[match[2]])


def _cells(record: TokenRecord) -> tuple[str, ...]:
    expires = to_date(record.expires) or "never"
    if record.expires is not None and record.expires <= time.time():
        expires += " (expired)"
    agents = "all" if record.agents is None else ",".join(sorted(record.agents))
    return record.name, ",".join(sorted(record.scopes)), agents, expires, to_date(record.created) or ""
