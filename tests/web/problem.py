"""What every refusal must look like."""

from __future__ import annotations

import json
from typing import Any

import httpx


def problem_in(response: httpx.Response | None, status: int, code: str) -> dict[str, Any]:
    """The `application/problem+json` of a refusal, held against RFC 9457 and the gateway's own promises."""
    assert response is not None, "closed without an answer"
    assert (response.status_code, response.headers.get("content-type")) == (status, "application/problem+json")
    problem: dict[str, Any] = json.loads(response.content)
    assert problem["type"] == f"urn:agui-gateway:problem:{code.lower().replace('_', '-')}"
    assert (problem["status"], problem["code"]) == (status, code)
    assert isinstance(problem["title"], str) and problem["title"]
    assert isinstance(problem["detail"], str) and problem["detail"]
    assert "Traceback" not in response.text
    return problem
