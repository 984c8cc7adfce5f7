"""Errors. Each class names the party at fault: client, operator, agent or gateway.

    GatewayError             the gateway itself failed                       500
    ├── BadRequest           the client's request is not what the route takes 400
    │   ├── NotJson          …the body is not JSON                           400
    │   ├── TooLarge         …it exceeds a size limit                        413
    │   ├── TooSlow          …it was not complete in time                    408
    │   └── WrongType        …it has another content type                    415
    ├── Unauthorized         no token, or an unknown one                     401
    ├── Forbidden            a Host, an Origin or a scope is not allowed     403
    ├── NotFound             no such agent, run, thread, page                404
    ├── NotAllowed           the route does not have this method             405
    ├── Conflict             the state of a run or a thread does not allow it 409
    ├── Refused              understood, but cannot be done                  422
    │   ├── BadInput         a field is invalid; `pointer` is its JSON pointer
    │   └── NotCapable       the agent lacks `capability`; `source` is the layer that states so
    ├── LimitReached         the principal is at one of its limits           429
    ├── Busy                 no capacity, or shutting down                   503
    ├── ConfigError          the operator's setting or agent file is invalid (at start)
    ├── StoreError           the store cannot be opened or written           503
    └── AgentFault           the agent died, raised or broke its protocol    502
        └── EventTooLarge    …or sent an event that is too large

A code is `PARTY_PROBLEM`, for example `AGENT_PROTOCOL_ERROR`. Before the first byte of a response an error is
`application/problem+json` (`problem()`), after it a `RUN_ERROR` event.
"""

from __future__ import annotations

from math import ceil
from typing import Any, ClassVar


class GatewayError(Exception):
    """`detail`: what happened and what to do, for people. `extra`: further fields of the problem, for programs."""

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
    status = 400
    title = "Bad request"
    code = "BAD_REQUEST"


class NotJson(BadRequest):
    title = "Not JSON"
    code = "NOT_JSON"


class TooLarge(BadRequest):
    status = 413
    title = "Too large"
    code = "TOO_LARGE"


class TooSlow(BadRequest):
    status = 408
    title = "Too slow"
    code = "TOO_SLOW"


class WrongType(BadRequest):
    status = 415
    title = "Unsupported content type"
    code = "UNSUPPORTED_CONTENT_TYPE"


class Unauthorized(GatewayError):
    status = 401
    title = "Token needed"
    code = "UNAUTHORIZED"


class Forbidden(GatewayError):
    status = 403
    title = "Forbidden"
    code = "FORBIDDEN"


class NotFound(GatewayError):
    status = 404
    title = "Not found"
    code = "NOT_FOUND"


class NotAllowed(GatewayError):
    status = 405
    title = "Method not allowed"
    code = "METHOD_NOT_ALLOWED"


class Conflict(GatewayError):
    status = 409
    title = "Conflict"
    code = "CONFLICT"


class Refused(GatewayError):
    status = 422
    title = "Refused"
    code = "REFUSED"


class BadInput(Refused):
    title = "Invalid input"
    code = "INVALID_INPUT"


class NotCapable(Refused):
    title = "The agent cannot do this"
    code = "CAPABILITY_ERROR"


class Busy(GatewayError):
    status = 503
    title = "Busy"
    code = "GATEWAY_BUSY"


class LimitReached(GatewayError):
    """`limit`: the name of the setting; `value`: what it is; `retry_after`: seconds after which to try again."""

    status = 429
    title = "Limit reached"
    code = "LIMIT_REACHED"

    def __init__(self, detail: str, limit: str, value: float, retry_after: float, **extra: Any) -> None:
        super().__init__(detail, limit=limit, value=value, retryAfter=max(1, ceil(retry_after)), **extra)
        self.retry_after = retry_after


class ConfigError(GatewayError):
    title = "Configuration error"
    code = "INVALID_CONFIG"


class StoreError(GatewayError):
    status = 503
    title = "Store unavailable"
    code = "STORE_ERROR"


class AgentFault(GatewayError):
    status = 502
    title = "The agent failed"
    code = "AGENT_ERROR"


class EventTooLarge(AgentFault):
    title = "Event too large"
    code = "EVENT_TOO_LARGE"
