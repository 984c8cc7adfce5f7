"""The environment of an agent's process.

In: variable names from the agent's file, values that the file sets, the gateway's own environment. Out: the agent's
environment, and which of its values are secrets. Pure: nothing here reads `os.environ`. Never: a setting of the
gateway, even if the agent's file lists it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from gateway.errors import NotJson
from gateway.jsonio import dumps, loads

GATEWAY_PREFIX = "AGUI_GATEWAY_"
"""The gateway's settings, tokens among them."""

BASE_NAMES = (
    # user and directories
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TERM", "XDG_*"),
    # language and time
    *("LANG", "LC_*", "TZ"),
    # proxies of a company network; curl and Go read the lower-case names, most other programs both
    *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"),
    *("NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR"),
)
"""Passed to every agent. A trailing `*` matches any rest of the name."""

MIN_SECRET_CHARS = 6
"""A shorter value is a number or a common word; masking it would hide ordinary text, not a secret."""

_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL", re.IGNORECASE)


def agent_environment(inherit: Sequence[str], extra: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """The base list and `inherit` out of `environ`, then `extra` over it."""
    inherited = select_variables((*BASE_NAMES, *inherit), environ)
    return {name: value for name, value in {**inherited, **extra}.items() if not name.startswith(GATEWAY_PREFIX)}


def select_variables(patterns: Sequence[str], environ: Mapping[str, str]) -> dict[str, str]:
    """These variables; a trailing `*` matches any rest of the name."""
    names = {pattern for pattern in patterns if not pattern.endswith("*")}
    prefixes = tuple(pattern[:-1] for pattern in patterns if pattern.endswith("*"))
    return {name: value for name, value in environ.items() if name in names or name.startswith(prefixes)}


def merge_json(current: str | None, addition: str) -> str:
    """A variable's JSON object with another merged into it: objects key by key, lists joined. What is not JSON, or no
    object, is replaced."""
    try:
        value = None if current is None else loads(current)
    except NotJson:
        value = None
    return dumps(_merge(value, loads(addition))).decode() if isinstance(value, dict) else addition


def _merge(value: Any, addition: Any) -> Any:
    if isinstance(value, dict) and isinstance(addition, dict):
        return {**value, **{key: _merge(value.get(key), item) for key, item in addition.items()}}
    return [*value, *addition] if isinstance(value, list) and isinstance(addition, list) else addition


def looks_secret(name: str) -> bool:
    """By the variable's name. `mcp_launch.launcher` has the same rule."""
    return _SECRET_NAME.search(name) is not None


def secret_values(environ: Mapping[str, str]) -> list[str]:
    """The values to mask where an agent's output is shown, the longest first: one may begin with another."""
    values = {value for name, value in environ.items() if looks_secret(name)}
    return sorted((value for value in values if len(value) >= MIN_SECRET_CHARS), key=lambda value: (-len(value), value))
