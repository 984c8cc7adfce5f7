"""The git worktree of a thread: shown, committed, merged, discarded."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from gateway.errors import BadInput
from gateway.jsonio import loads
from gateway.web.request_body import read_body
from gateway.web.routes.threads import read_target

MAX_MESSAGE_CHARS = 10_000


async def show(request: Request) -> Response:
    """`GET …/worktree`: branch, base, uncommitted files, changed lines."""
    gateway, _, thread = read_target(request)
    return JSONResponse(await gateway.worktrees.show(thread))


async def show_diff(request: Request) -> Response:
    """`GET …/worktree/diff`: a unified diff against the base, uncommitted changes included."""
    gateway, _, thread = read_target(request)
    diff = await gateway.worktrees.read_diff(thread)
    headers = {"agui-gateway-truncated": "true"} if diff.is_cut else {}
    return PlainTextResponse(diff.text, headers=headers, media_type="text/x-diff")


async def commit(request: Request) -> Response:
    """`POST …/worktree/commit`, with `{"message": "…"}`."""
    gateway, agent, thread = read_target(request)
    body = await _read_object(request)
    message = _read_message(body)
    if message is None:
        raise BadInput('the body must be {"message": "…"}', pointer="/message")
    created = await gateway.worktrees.commit(thread, message)
    gateway.changes.touch(agent.definition.id)
    return JSONResponse({"commit": created, "result": "nothing-to-commit" if created is None else "committed"})


async def merge(request: Request) -> Response:
    """`POST …/worktree/merge`, with `{"commit": true, "message": "…"}` or an empty body."""
    gateway, agent, thread = read_target(request)
    body = await _read_object(request)
    commit_first = body.get("commit", False)
    if not isinstance(commit_first, bool):
        raise BadInput("commit is true or false: whether uncommitted changes are committed first", pointer="/commit")
    merged = await gateway.worktrees.merge(thread, _read_message(body), commit_first=commit_first)
    gateway.changes.touch(agent.definition.id)
    return JSONResponse(merged)


async def discard(request: Request) -> Response:
    """`DELETE …/worktree`: folder and branch, with everything that was not merged."""
    gateway, agent, thread = read_target(request)
    discarded = await gateway.worktrees.discard(thread)
    gateway.changes.touch(agent.definition.id)
    return JSONResponse(discarded)


async def _read_object(request: Request) -> dict[str, Any]:
    return await read_body(request, _parse_object)


def _parse_object(body: bytes) -> dict[str, Any]:
    parsed = loads(body) if body.strip() else {}
    if not isinstance(parsed, dict):
        raise BadInput("the body must be a JSON object", pointer="")
    return parsed


def _read_message(body: dict[str, Any]) -> str | None:
    message = body.get("message")
    if message is None:
        return None
    if not isinstance(message, str) or not message.strip() or "\0" in message or len(message) > MAX_MESSAGE_CHARS:
        raise BadInput(
            f"message is the commit's message: text of at most {MAX_MESSAGE_CHARS} characters", pointer="/message"
        )
    try:
        message.encode()
    except UnicodeEncodeError:
        raise BadInput("message has half of a surrogate pair: it is not text", pointer="/message") from None
    return message
