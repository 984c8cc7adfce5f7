"""A JSON response with texts of clients and agents in it.

In: a value. Out: the response. Starlette's own cannot write a lone surrogate, which JSON may have.
"""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from gateway.jsonio import dumps


class JsonResponse(Response):
    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return dumps(content)
