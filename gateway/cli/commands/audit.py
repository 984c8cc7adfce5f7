"""`agui-gateway audit`: the audit log of a running gateway."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import click
import httpx

from gateway.cli.commands.run import client_for
from gateway.cli.exit import CANCELLED, fail
from gateway.errors import ConfigError, GatewayError

DEFAULT_URL = "http://127.0.0.1:8123"
SSE = "text/event-stream"
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
AGE = re.compile(r"(\d{1,9})([smhd])")
RECONNECT_SECONDS = 1.0


@click.command("audit")
@click.option("--url", default=DEFAULT_URL, show_default=True, help="The gateway.")
@click.option("--token-file", type=click.Path(path_type=Path), help="Send the first token of this file.")
@click.option("--follow", is_flag=True, help="Go on with new entries until Ctrl-C.")
@click.option("--since", metavar="TIME", help="Entries from then on: 2026-11-18T03:00:00Z, or an age: 30m, 12h, 7d.")
@click.option("--principal", help="Only entries of this principal.")
@click.option("--action", help="Only this action, or this kind: run.start, run.")
@click.option("--json", "json_", is_flag=True, help="Print one JSON object per line.")
def command(
    url: str,
    token_file: Path | None,
    follow: bool,
    since: str | None,
    principal: str | None,
    action: str | None,
    json_: bool,
) -> None:
    """Show who did what: runs, approvals, settings, registrations, refusals. Needs the scope `admin`."""
    try:
        selected = {"since": None if since is None else to_time(since), "principal": principal, "action": action}
        params = {name: value for name, value in selected.items() if value is not None}
        with client_for(url, token_file) as client:
            for entry in read_entries(client, params, follow=follow):
                click.echo(json.dumps(entry, ensure_ascii=False) if json_ else to_line(entry))
    except GatewayError as exc:
        fail(exc)
    except httpx.HTTPError as exc:
        fail(GatewayError(f"{url} cannot be reached: {exc}. Is the gateway running?", code="UNREACHABLE"))
    except KeyboardInterrupt:
        sys.exit(CANCELLED)


def to_time(text: str) -> str:
    """What `GET /audit` takes: an age becomes the time that was so long ago."""
    if (age := AGE.fullmatch(text)) is not None:
        return f"{time.time() - int(age[1]) * SECONDS[age[2]]:.3f}"
    try:
        datetime.fromisoformat(text)
    except ValueError:
        raise ConfigError(f"--since {text}: write a time (2026-11-18T03:00:00Z) or an age (30m, 12h, 7d)") from None
    return text


def read_entries(client: httpx.Client, params: dict[str, str], *, follow: bool) -> Iterator[dict[str, Any]]:
    after = 0
    while True:
        response = client.get("/audit", params={**params, "after": str(after), "limit": "1000"})
        page = _read(response)
        yield from page["entries"]
        after = page["entries"][-1]["number"] if page["entries"] else after
        if "next" not in page:
            break
    while follow:
        try:
            for entry in follow_entries(client, {**params, "after": str(after)}):
                after = entry["number"]
                yield entry
        except httpx.TransportError:
            pass  # the gateway is restarted: its numbers go on
        time.sleep(RECONNECT_SECONDS)


def follow_entries(client: httpx.Client, params: dict[str, str]) -> Iterator[dict[str, Any]]:
    with client.stream("GET", "/audit", params=params, headers={"accept": SSE}, timeout=None) as response:
        if response.status_code != 200:
            response.read()
            _read(response)
        for line in response.iter_lines():
            if line.startswith("data: "):
                yield json.loads(line[6:])


def _read(response: httpx.Response) -> dict[str, Any]:
    try:
        body = response.json()
    except ValueError:
        raise GatewayError(f"{response.request.url} answers {response.status_code}. Is it an agui-gateway?") from None
    if response.status_code != 200:
        raise GatewayError(str(body.get("detail", body)), code=str(body.get("code", "REFUSED")))
    page: dict[str, Any] = body
    return page


def to_line(entry: dict[str, Any]) -> str:
    """One entry for people. Control characters of agents and clients must not reach the terminal."""
    place = "/".join(str(entry[name]) for name in ("agent", "threadId", "runId") if name in entry)
    detail = json.dumps(entry["detail"], ensure_ascii=False) if "detail" in entry else ""
    parts = [str(entry["number"]), entry["at"], entry["principal"], entry["action"], place, detail]
    return "  ".join("".join(char if char.isprintable() else "·" for char in part) for part in parts if part)
