"""What an agent sees of the gateway's environment.

In: names from the agent's file, values it sets itself, the gateway's own environment. Out: the agent's, and which of
its values are secrets. Pure: nothing here reads `os.environ`. Never: a setting of the gateway's, whoever asks for it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

OWN = "AGUI_GATEWAY_"
"""The gateway's settings, tokens among them."""

BASE = (
    # who and where
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TERM", "XDG_*"),
    # language and time
    *("LANG", "LC_*", "TZ"),
    # the way out of a company's network; curl and Go read the small names, most others both
    *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"),
    *("NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR"),
)
"""Passed to every agent. A trailing `*` stands for any rest of the name."""

SHORTEST_SECRET = 6
"""A shorter value is a number or a word that stands in many lines; to mask it would hide the lines, not a secret."""

_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL", re.IGNORECASE)


def trimmed(inherit: Sequence[str], extra: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """The base list and `inherit` out of `environ`, then `extra` over it."""
    passed = select_variables((*BASE, *inherit), environ)
    return {name: value for name, value in {**passed, **extra}.items() if not name.startswith(OWN)}


def select_variables(wanted: Sequence[str], environ: Mapping[str, str]) -> dict[str, str]:
    """These variables; a trailing `*` stands for any rest of the name."""
    names = {name for name in wanted if not name.endswith("*")}
    prefixes = tuple(name[:-1] for name in wanted if name.endswith("*"))
    return {name: value for name, value in environ.items() if name in names or name.startswith(prefixes)}


def secrets(environ: Mapping[str, str]) -> list[str]:
    """The values to mask where an agent's words are shown, the longest first: one may begin with another."""
    select_variables = {value for name, value in environ.items() if _SECRET_NAME.search(name)}
    return sorted(
        (value for value in select_variables if len(value) >= SHORTEST_SECRET), key=lambda value: (-len(value), value)
    )
