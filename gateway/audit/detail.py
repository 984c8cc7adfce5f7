"""The detail of an audit entry: bounded in size, without secrets.

In: any JSON object, from clients and agents too. Out: one line of JSON. Pure. A value is masked where its name says
that it is a secret, where it contains one of the gateway's own secrets, and where it looks like a well-known kind of
token.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

MASK = "•••"
MAX_TEXT_CHARS = 500
MAX_ITEMS = 50
MAX_DEPTH = 6
MAX_DETAIL_BYTES = 8 * 1024

SECRET_NAME = re.compile(r"key|token|secret|passw|credential|authorization|cookie|bearer", re.IGNORECASE)
SECRET_TEXT = re.compile(
    r"(?i:\b(?:bearer|basic)\s+)[A-Za-z0-9._~+/=-]{8,}"
    r"|\b(?:sk|pk|rk)-[A-Za-z0-9_-]{8,}"
    r"|\bgh[pousr]_[A-Za-z0-9]{16,}|\bgithub_pat_\w{16,}|\bglpat-[\w-]{16,}|\bxox[abprs]-[\w-]{8,}"
    r"|\bAKIA[A-Z0-9]{12,}|\bAIza[\w-]{20,}"
    r"|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{4,}"
    r"|(?i:(?:key|token|secret|password|passwd)[\"']?\s*[=:]\s*[\"']?)[^\s\"']{6,}"
    r"|://[^/\s:@]+:[^/\s@]+@"
)
"""Tokens of providers by their prefixes, JSON Web Tokens, assignments (`API_KEY=…`), passwords in URLs."""


def to_detail(fields: Mapping[str, Any], secrets: Sequence[str] = ()) -> bytes:
    """`secrets`: values to mask wherever they occur. Fields without a value are left out."""
    given = {name: value for name, value in fields.items() if value is not None}
    bounded: dict[str, Any] = _bound(given, "", secrets, MAX_DEPTH)
    data = _dump(bounded)
    if len(data) <= MAX_DETAIL_BYTES:
        return data
    sizes = {name: len(_dump(value)) for name, value in bounded.items()}
    while sizes and len(data) > MAX_DETAIL_BYTES:
        largest = max(sizes, key=lambda name: sizes[name])
        bounded[largest] = f"… ({sizes.pop(largest)} bytes left out)"
        data = _dump(bounded)
    return data if len(data) <= MAX_DETAIL_BYTES else _dump({"omitted": len(data)})


def mask_text(text: str, secrets: Sequence[str] = ()) -> str:
    for secret in secrets:
        text = text.replace(secret, MASK)
    return SECRET_TEXT.sub(MASK, text)


def _bound(value: Any, name: str, secrets: Sequence[str], depth: int) -> Any:
    if value is None or isinstance(value, bool | int | float):
        return value
    if SECRET_NAME.search(name) and not isinstance(value, Mapping | list | tuple):
        return MASK
    if isinstance(value, str):
        # Masked first: a secret that is cut in two would not be found.
        text = mask_text(value, secrets)
        return text if len(text) <= MAX_TEXT_CHARS else f"{text[:MAX_TEXT_CHARS]}… ({len(text)} characters)"
    if depth <= 0:
        return "…"
    if isinstance(value, Mapping):
        items = list(value.items())[:MAX_ITEMS]
        return {_bound_key(key, secrets): _bound(each, str(key), secrets, depth - 1) for key, each in items}
    if isinstance(value, list | tuple):
        return [_bound(each, name, secrets, depth - 1) for each in value[:MAX_ITEMS]]
    return _bound(str(value), name, secrets, depth)


def _bound_key(key: object, secrets: Sequence[str]) -> str:
    return mask_text(str(key), secrets)[:MAX_TEXT_CHARS]


def _dump(value: Any) -> bytes:
    try:
        return orjson.dumps(value)
    except TypeError:  # a lone surrogate, an integer beyond 64 bits
        return orjson.dumps({"unreadable": ascii(value)[:MAX_TEXT_CHARS]})
