"""The console: files of `gateway/console`, as they are, to any browser that may see the gateway.

Nothing is built and nothing comes from elsewhere. The page itself is shown without a token, for it holds no secret: it
asks for one when the gateway refuses it the rest.
"""

from __future__ import annotations

import gzip
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from gateway.web.routes import agents

FOLDER = Path(__file__).resolve().parents[2] / "console"
TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
"""What the folder may hold; anything else in it is not served."""

SAFE = {
    # Agents' words are data: no script, style or frame that is not one of these files, and no other host is spoken to.
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data: blob:; media-src data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-cache",  # asked for again by tag: an upgrade is seen at once
}


async def index(request: Request) -> Response:
    """`GET /`: the page for a browser, the list of routes for a program."""
    if wants_page(request.headers.get("accept", "")):
        return _answer(request, "index.html")
    return await agents.index(request)


async def file(request: Request) -> Response:
    return _answer(request, request.path_params["path"])


def wants_page(accept: str) -> bool:
    return "text/html" in accept


def _answer(request: Request, name: str) -> Response:
    path = (FOLDER / name).resolve()
    if FOLDER not in path.parents or path.suffix not in TYPES or not path.is_file():
        raise HTTPException(404, f"the console has no file {name!r}")
    plain, packed, tag = _read(path, path.stat().st_mtime_ns)
    headers = SAFE | {"etag": tag, "vary": "accept, accept-encoding"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(packed, headers=headers | {"content-encoding": "gzip"}, media_type=TYPES[path.suffix])
    return Response(plain, headers=headers, media_type=TYPES[path.suffix])


@lru_cache(maxsize=256)
def _read(path: Path, changed: int) -> tuple[bytes, bytes, str]:
    """Read once for every change of the file."""
    plain = path.read_bytes()
    return plain, gzip.compress(plain, 9, mtime=0), f'"{blake2b(plain, digest_size=12).hexdigest()}"'
