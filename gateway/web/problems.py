"""Errors as `application/problem+json` (RFC 9457, https://www.rfc-editor.org/rfc/rfc9457).

In: an exception of a route. Out: the response. Every refusal before the first byte of a stream has this one shape.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

import orjson
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ExceptionHandler

from gateway.errors import BadRequest, GatewayError, LimitReached, NotAllowed, NotFound, Unauthorized

CONTENT_TYPE = "application/problem+json"

NOSNIFF = {"x-content-type-options": "nosniff"}
"""A browser must not read a response as another type than it has: agents and clients choose much of the content."""

log = logging.getLogger(__name__)


def problem_response(error: GatewayError, headers: Mapping[str, str] | None = None) -> Response:
    all_headers = {**NOSNIFF, **(headers or {})}
    if isinstance(error, Unauthorized):
        all_headers["www-authenticate"] = "Bearer"
    if isinstance(error, LimitReached):
        all_headers["retry-after"] = str(error.extra["retryAfter"])
    if error.status in (408, 413):
        all_headers["connection"] = "close"  # The client may still be sending the rest of the body.
    return Response(orjson.dumps(error.problem(), default=str), error.status, all_headers, CONTENT_TYPE)


async def on_gateway_error(request: Request, exc: Exception) -> Response:
    assert isinstance(exc, GatewayError)
    if exc.status >= 500:
        log.warning("%s %s: %s", request.method, request.url.path, exc.detail)
    if request.url.path.startswith("/copilotkit/"):
        # CopilotKit's client shows developers the field `message` of a refusal.
        exc.extra.update(error=exc.code, message=exc.detail)
    return problem_response(exc)


async def on_http_exception(request: Request, exc: Exception) -> Response:
    """Starlette's own errors: no such route, no such method."""
    assert isinstance(exc, HTTPException)
    match exc.status_code:
        case 404:
            return problem_response(NotFound(f"there is nothing at {request.url.path}. GET / lists what there is."))
        case 405:
            allowed = ", ".join(sorted((exc.headers or {}).get("Allow", "").split(", ")))
            detail = f"{request.url.path} takes {allowed}, not {request.method}"
            return problem_response(NotAllowed(detail, allow=allowed.split(", ")), {"allow": allowed})
        case _:
            return problem_response(BadRequest(str(exc.detail)))


async def on_client_disconnect(request: Request, exc: Exception) -> Response:
    """The client left before its request was complete. The response reaches no one, and there is nothing to log."""
    return problem_response(BadRequest("the request was not complete when the connection closed"))


async def on_unexpected_error(request: Request, exc: Exception) -> Response:
    """A defect of the gateway. The server logs the traceback; the client never gets it."""
    return problem_response(GatewayError("the gateway failed while it answered; its log says how"))


HANDLERS: dict[type[Exception], ExceptionHandler] = {
    GatewayError: on_gateway_error,
    HTTPException: on_http_exception,
    ClientDisconnect: on_client_disconnect,
    Exception: on_unexpected_error,
}
