"""The console: the files of `gateway/console`, unchanged, for every browser that may reach the gateway.

Nothing is built, and nothing comes from another host. The page itself is served without a token, because it has no
secrets: it asks the user for a token when the gateway refuses the rest.
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
"""File types that are served; anything else in the folder is not."""

SECURITY_HEADERS = {
    # What agents write is data: no script, style or frame but these files, and no connection to another host.
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data: blob:; media-src data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-cache",  # validated by tag at every load: an upgrade is seen at once
}


async def index(request: Request) -> Response:
    """`GET /`: the page for a browser, the list of routes for a program."""
    if wants_page(request.headers.get("accept", "")):
        return _serve_file(request, "index.html")
    return await agents.index(request)


async def file(request: Request) -> Response:
    return _serve_file(request, request.path_params["path"])


def wants_page(accept: str) -> bool:
    return "text/html" in accept


def _serve_file(request: Request, name: str) -> Response:
    path = _find_file(name)
    if path is None:
        raise HTTPException(404, f"the console has no file {name!r}")
    plain, gzipped, tag = _read(path, path.stat().st_mtime_ns)
    headers = SECURITY_HEADERS | {"etag": tag, "vary": "accept, accept-encoding"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(gzipped, headers=headers | {"content-encoding": "gzip"}, media_type=TYPES[path.suffix])
    return Response(plain, headers=headers, media_type=TYPES[path.suffix])


def _find_file(name: str) -> Path | None:
    """None: the folder has no such file, or a name that no file can have: with a NUL character, or too long."""
    try:
        path = (FOLDER / name).resolve()
        return path if FOLDER in path.parents and path.suffix in TYPES and path.is_file() else None
    except (OSError, ValueError):
        return None


@lru_cache(maxsize=256)
def _read(path: Path, modified_ns: int) -> tuple[bytes, bytes, str]:
    """Reads the file once for each of its versions: plain, gzipped, and the entity tag."""
    plain = path.read_bytes()
    return plain, gzip.compress(plain, 9, mtime=0), f'"{blake2b(plain, digest_size=12).hexdigest()}"'
