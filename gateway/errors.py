"""Errors name the party at fault.

    GatewayError
    ├── BadRequest           the bytes are not what the route takes          400
    │   ├── NotJson          …no JSON at all                                 400
    │   ├── TooLarge         …more than a bound allows                       413
    │   ├── TooSlow          …not complete within the bound                  408
    │   └── WrongType        …another content type                           415
    ├── Unauthorized         no token, or not a known one                    401
    ├── Forbidden            a Host, an Origin or a scope that may not       403
    ├── NotFound             no such agent, run, thread, page                404
    ├── NotAllowed           the route has no such method                    405
    ├── Conflict             something live is in the way                    409
    ├── Refused              understood, and cannot be done                  422
    │   ├── BadInput         a field is wrong; says which by JSON pointer
    │   └── NotCapable       the agent cannot; says which key, and who said so
    ├── Busy                 no slot free, or shutting down                  503
    ├── ConfigError          a setting or an agent's file is wrong (at start)
    ├── StoreError           the store cannot be opened or written           503
    └── AgentFault           the agent died, raised or talked nonsense       502
        └── EventTooLarge    …or sent more than one event may carry

Before the first byte an error is `application/problem+json` (`problem()`), after it a `RUN_ERROR`.
"""

from __future__ import annotations

from typing import Any, ClassVar


class GatewayError(Exception):
    """`detail` says what happened and what to do; `extra` is what programs need of it."""

    status: ClassVar[int] = 500
    title: ClassVar[str] = "Internal error"
    code: str = "INTERNAL_ERROR"

    def __init__(self, detail: str, *, code: str | None = None, **extra: Any) -> None:
        super().__init__(detail)
        self.detail = detail
        self.extra = extra
        if code is not None:
            self.code = code

    def problem(self) -> dict[str, Any]:
        """The body of an `application/problem+json` answer (RFC 9457)."""
        return {
            "type": f"urn:agui-gateway:problem:{self.code.lower().replace('_', '-')}",
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
            "code": self.code,
            **{key: value for key, value in self.extra.items() if value is not None},
        }


class BadRequest(GatewayError):
    status, title, code = 400, "Bad request", "BAD_REQUEST"


class NotJson(BadRequest):
    title, code = "Not JSON", "NOT_JSON"


class TooLarge(BadRequest):
    status, title, code = 413, "Too large", "TOO_LARGE"


class TooSlow(BadRequest):
    status, title, code = 408, "Too slow", "TOO_SLOW"


class WrongType(BadRequest):
    status, title, code = 415, "Unsupported content type", "UNSUPPORTED_CONTENT_TYPE"


class Unauthorized(GatewayError):
    status, title, code = 401, "Token needed", "UNAUTHORIZED"


class Forbidden(GatewayError):
    status, title, code = 403, "Forbidden", "FORBIDDEN"


class NotFound(GatewayError):
    status, title, code = 404, "Not found", "NOT_FOUND"


class NotAllowed(GatewayError):
    status, title, code = 405, "Method not allowed", "METHOD_NOT_ALLOWED"


class Conflict(GatewayError):
    status, title, code = 409, "Conflict", "CONFLICT"


class Refused(GatewayError):
    status, title, code = 422, "Refused", "REFUSED"


class BadInput(Refused):
    title, code = "Invalid input", "INVALID_INPUT"


class NotCapable(Refused):
    title, code = "The agent cannot do this", "CAPABILITY_ERROR"


class Busy(GatewayError):
    status, title, code = 503, "Busy", "GATEWAY_BUSY"


class ConfigError(GatewayError):
    title, code = "Configuration error", "INVALID_CONFIG"


class StoreError(GatewayError):
    status, title, code = 503, "Store unavailable", "STORE_ERROR"


class AgentFault(GatewayError):
    status, title, code = 502, "The agent failed", "AGENT_ERROR"


class EventTooLarge(AgentFault):
    title, code = "Event too large", "EVENT_TOO_LARGE"
