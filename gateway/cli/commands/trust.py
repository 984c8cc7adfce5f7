"""`agui-gateway trust`: shows what a project configures in agents, and trusts its folder.

In: a folder, a principal, the catalog. Out: the project's own agent configuration as a list, and a line of the trust
file. Never: a start of an agent, and no change without showing what the folder holds now.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from gateway.catalog.load import Catalog
from gateway.cli.agent_options import agents_options, catalog_for, settings_for
from gateway.cli.exit import fail
from gateway.cli.output.terminal import align, as_json, printable
from gateway.errors import ConfigError, GatewayError
from gateway.identity import LOCAL
from gateway.trust.configuration import ConfigurationItem, find_configuration
from gateway.trust.folders import real_folder, too_wide_reason
from gateway.trust.trust_file import EVERYBODY, TrustFile

TRUST_HELP = """Trust the project in DIR: agents then read its own configuration.

A project can hold hooks, MCP servers, plugins and other settings that run programs as soon as an agent starts there.
What the folder holds now is listed first. A folder is trusted with everything below it.

\b
Look, and trust:           agui-gateway trust ~/src/project
Only look:                 agui-gateway trust ~/src/project --dry-run
Show all trusted folders:  agui-gateway trust --list
Take it back:              agui-gateway trust ~/src/project --remove
For a user with a token:   agui-gateway trust ~/src/project --principal ada
"""

FoundConfiguration = dict[ConfigurationItem, list[str]]
"""Item → ids of the agents that read it."""


@click.command("trust", help=TRUST_HELP)
@click.argument("folder", metavar="DIR", required=False)
@click.option("--principal", default=LOCAL, help=f"Who trusts it: the name of a token; {EVERYBODY} for everybody.")
@click.option("--list", "list_", is_flag=True, help="Show the trusted folders.")
@click.option("--remove", is_flag=True, help="Do not trust the folder any more.")
@click.option("--dry-run", is_flag=True, help="Show what the folder holds, and change nothing.")
@click.option("--force", is_flag=True, help="Also trust the home directory or the root of the filesystem.")
@click.option("--json", "json_", is_flag=True, help="Print JSON.")
@agents_options
def command(folder: str | None, agents: Sequence[str], acp: Sequence[str], config: Path | None, **options: Any) -> None:
    try:
        settings = settings_for(agents, acp, config)
        file = TrustFile(settings.trust_file)
        if options["list_"]:
            return print_folders(file, json_=options["json_"])
        if folder is None:
            raise ConfigError("name the folder: agui-gateway trust DIR. --list shows the trusted ones")
        path = real_folder(folder)
        if options["remove"]:
            return remove_folder(file, options["principal"], path, json_=options["json_"])
        return add_folder(file, path, catalog_for(settings), **options)
    except GatewayError as exc:
        fail(exc)


def print_folders(file: TrustFile, *, json_: bool) -> None:
    entries = [
        {"principal": principal, "folder": str(folder), "since": since}
        for principal, folders in sorted(file.read().items())
        for folder, since in sorted(folders.items())
    ]
    if json_:
        click.echo(as_json(entries))
    elif not entries:
        click.echo("No folder is trusted.")
    else:
        rows = [("principal", "folder", "since"), *(tuple(entry.values()) for entry in entries)]
        click.echo(printable("\n".join(align(rows))))


def remove_folder(file: TrustFile, principal: str, folder: Path, *, json_: bool) -> None:
    if not file.remove(principal, folder):
        raise ConfigError(f"{principal} does not trust {folder}; --list shows the trusted folders")
    _report(json_, f"{folder} is not trusted any more.", {"folder": str(folder), "principal": principal})


def add_folder(file: TrustFile, folder: Path, catalog: Catalog, **options: Any) -> None:
    if not folder.is_dir():
        raise ConfigError(f"{folder}: there is no such folder")
    principal, json_ = options["principal"], options["json_"]
    found = find_for_all(folder, catalog)
    if not json_:
        print_configuration(folder, found)
    if (reason := too_wide_reason(folder)) is not None and not options["force"]:
        raise ConfigError(f"{reason}. Trust the project's own folder, or repeat this with --force")
    is_new = False if options["dry_run"] else file.add(principal, folder)
    items = [{**item.to_json(), "agents": agents} for item, agents in found.items()]
    result = {
        "folder": str(folder),
        "principal": principal,
        "isTrusted": not options["dry_run"],
        "configuration": items,
    }
    if options["dry_run"]:
        sentence = "Nothing was changed."
    else:
        sentence = f"{folder} is trusted now." if is_new else f"{folder} was trusted before."
    _report(json_, sentence, result)


def find_for_all(folder: Path, catalog: Catalog) -> FoundConfiguration:
    found: FoundConfiguration = {}
    for agent_id, definition in catalog.items():
        for item in find_configuration(folder, definition.trust.configuration):
            found.setdefault(item, []).append(agent_id)
    return found


def print_configuration(folder: Path, found: FoundConfiguration) -> None:
    if not found:
        click.echo(f"{folder} holds no agent configuration that is known.")
        return
    click.echo(f"{folder} holds agent configuration:")
    for item, agents in found.items():
        location = f"{item.file} {item.key}".strip()
        click.echo(printable(f"  {item.kind:<12} {location}: {item.text}"))
        click.echo(printable(f"  {'':<12} read by {', '.join(agents)}"))


def _report(json_: bool, sentence: str, result: dict[str, Any]) -> None:
    click.echo(as_json(result) if json_ else printable(sentence))
