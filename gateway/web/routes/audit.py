"""`GET /audit`: the audit log, for administrators: a page of it as JSON, or the live feed as server-sent events."""

from __future__ import annotations

from datetime import UTC, datetime

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp

from gateway.audit import AuditFilter, AuditReader, to_json
from gateway.encode import sse
from gateway.errors import BadInput
from gateway.jsonio import dumps
from gateway.runs.log import Chunk
from gateway.service.gateway import Gateway
from gateway.web.event_stream import EventStream
from gateway.web.routes.capabilities_stream import accepts_feed
from gateway.web.routes.runs import read_after

DEFAULT_ENTRIES = 100
MAX_ENTRIES = 1000
NO_STORE = {"cache-control": "no-store"}


async def show(request: Request) -> ASGIApp:
    """Entries above `?after=N`, or above `Last-Event-ID`, in their order. `?since=`, `?principal=` and `?action=`
    select some, `?limit=` says how many. `next` is the number to go on after; without it there are no more."""
    gateway: Gateway = request.app.state.gateway
    after, where = read_after(request), _read_filter(request)
    if accepts_feed(request):
        if request.method == "HEAD":
            return Response(headers=NO_STORE, media_type=sse.CONTENT_TYPE)
        reader = ChunkReader(gateway.audit.follow(after, where))
        return EventStream(reader, sse.ENCODER, gateway.settings)
    limit = _read_limit(request)
    records = await gateway.audit.read(after, limit, where)
    body = {"entries": [to_json(record) for record in records]}
    more = {"next": records[-1].number} if len(records) == limit else {}
    return JSONResponse({**body, **more}, headers=NO_STORE)


class ChunkReader:
    """The entries as an event stream reads them."""

    def __init__(self, reader: AuditReader) -> None:
        self._reader = reader

    async def next(self) -> list[Chunk]:
        # One chunk for each: a filter leaves gaps in the numbers.
        return [Chunk(record.number, [dumps(to_json(record))]) for record in await self._reader.next()]


def _read_filter(request: Request) -> AuditFilter:
    query = request.query_params
    since = query.get("since")
    moment = None if since is None else _parse_time(since)
    return AuditFilter(moment, query.get("principal"), query.get("action"))


def _parse_time(text: str) -> float:
    """ISO 8601 (UTC without an offset), or seconds since the epoch."""
    try:
        return float(text)
    except ValueError:
        pass
    try:
        moment = datetime.fromisoformat(text.replace(" ", "+"))  # a client may leave the plus sign unescaped
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        detail = f"since is a time such as 2026-11-18T03:00:00Z, or seconds since 1970, not {text[:40]!r}"
        raise BadInput(detail, pointer="?since") from None


def _read_limit(request: Request) -> int:
    text = request.query_params.get("limit", str(DEFAULT_ENTRIES))
    if not text.isascii() or not text.isdigit() or not 0 < int(text[:9]) <= MAX_ENTRIES:
        raise BadInput(f"limit is a number from 1 to {MAX_ENTRIES}, not {text[:40]!r}", pointer="?limit")
    return int(text)
