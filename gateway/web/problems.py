"""Errors → `application/problem+json` (RFC 9457). One shape for every refusal before the first byte of a stream."""

from __future__ import annotations

import logging
from collections.abc import Mapping

import orjson
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ExceptionHandler

from gateway.errors import BadRequest, GatewayError, NotAllowed, NotFound, Unauthorized

CONTENT_TYPE = "application/problem+json"

log = logging.getLogger(__name__)


def problem(error: GatewayError, headers: Mapping[str, str] | None = None) -> Response:
    extra = dict(headers or {})
    if isinstance(error, Unauthorized):
        extra["www-authenticate"] = "Bearer"
    if error.status in (408, 413):
        extra["connection"] = "close"  # the rest of the body may still be on its way
    return Response(orjson.dumps(error.problem(), default=str), error.status, extra, CONTENT_TYPE)


async def on_gateway_error(request: Request, exc: Exception) -> Response:
    assert isinstance(exc, GatewayError)
    if exc.status >= 500:
        log.warning("%s %s: %s", request.method, request.url.path, exc.detail)
    if request.url.path.startswith("/copilotkit/"):
        # Its client shows a developer the `message` of a refusal.
        exc.extra.update(error=exc.code, message=exc.detail)
    return problem(exc)


async def on_http_exception(request: Request, exc: Exception) -> Response:
    """Starlette's own: no such route, no such method."""
    assert isinstance(exc, HTTPException)
    match exc.status_code:
        case 404:
            return problem(NotFound(f"there is nothing at {request.url.path}. GET / lists what there is."))
        case 405:
            allowed = ", ".join(sorted((exc.headers or {}).get("Allow", "").split(", ")))
            detail = f"{request.url.path} takes {allowed}, not {request.method}"
            return problem(NotAllowed(detail, allow=allowed.split(", ")), {"allow": allowed})
        case _:
            return problem(BadRequest(str(exc.detail)))


async def on_client_gone(request: Request, exc: Exception) -> Response:
    """It left before its request was complete. Nobody hears this, and nothing is wrong here."""
    return problem(BadRequest("the request was not complete when the connection closed"))


async def on_defect(request: Request, exc: Exception) -> Response:
    """A defect of the gateway: the traceback goes to its log, never to the wire."""
    return problem(GatewayError("the gateway failed while it answered; its log says how"))


HANDLERS: dict[type[Exception], ExceptionHandler] = {
    GatewayError: on_gateway_error,
    HTTPException: on_http_exception,
    ClientDisconnect: on_client_gone,
    Exception: on_defect,
}
