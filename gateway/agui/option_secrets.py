"""The secrets in a run's options: headers and environments of the MCP servers that a client names.

In: `forwardedProps` of a run or of a message. Out: the same with a mask in place of each secret, for whatever is stored
or shown, and `SecretMask`, which finds them again in what an agent says. The agent gets the options as the client sent
them. Pure.
"""

from __future__ import annotations

from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit, urlunsplit

from gateway.events import Json

MASK = "***"
PLAIN_KEYS = frozenset(("name", "type", "command", "args"))
"""Keys of a server that hold no secret. Of all others but `url` only the names are kept. Arguments of a command are
visible to every user of the machine while it runs: a secret there is public already."""


def mask_secrets(forwarded_props: Json) -> Json:
    """A copy without the secrets; the same object where there are no MCP servers."""
    match forwarded_props:
        case {"gateway": {"mcpServers": list(servers)} as options} if servers:
            masked = [_mask_server(server) if isinstance(server, Mapping) else MASK for server in servers]
            return {**forwarded_props, "gateway": {**options, "mcpServers": masked}}
        case _:
            return forwarded_props


def has_secrets_in_entry(server: Mapping[str, Any]) -> bool:
    """Whether an agent that shows the entry shows a secret. Variables of a command are not in the entry by then."""
    shown = {key: value for key, value in server.items() if key != "env" or "command" not in server}
    return _mask_server(shown) != shown


def _mask_server(server: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value if key in PLAIN_KEYS else _mask_value(key, value) for key, value in server.items()}


def _mask_value(key: str, value: Any) -> Any:
    match value:
        case str() if key == "url":
            return mask_url(value)
        case dict():
            return {name: _mask_value(name, item) for name, item in value.items()}
        case list():
            return [_mask_pair(item) for item in value]
        case None | bool():
            return value
        case _:
            return MASK


def _mask_pair(pair: Any) -> Any:
    """`{"name", "value"}`, as ACP lists headers and variables: the name stays."""
    if isinstance(pair, dict):
        return {key: item if key == "name" else _mask_value(key, item) for key, item in pair.items()}
    return MASK


def mask_url(url: str) -> str:
    """Without user, password, query and fragment, where keys are often written."""
    try:
        parts = urlsplit(url)
        user, at, host = parts.netloc.rpartition("@")
        netloc = f"{MASK}@{host}" if at and user else host
        query, fragment = MASK if parts.query else "", MASK if parts.fragment else ""
        return urlunsplit((parts.scheme, netloc, parts.path, query, fragment))
    except ValueError:
        return MASK


# -- the secrets themselves, to be masked in what an agent says

MIN_SECRET_CHARS = 6
"""A shorter value is a number or a common word; masking it would hide ordinary text, not a secret."""


class SecretMask:
    """Masks the secrets of some MCP servers in texts and JSON: as they are, in base64, and escaped for a URL."""

    def __init__(self, servers: Iterable[Mapping[str, Any]] = ()) -> None:
        values = {secret for server in servers for secret in _list_secrets(server)}
        long_values = (value for value in values if len(value) >= MIN_SECRET_CHARS)
        spellings = {spelling for value in long_values for spelling in _spell(value)}
        self._secrets = sorted(spellings, key=lambda value: (-len(value), value))  # one may begin with another

    def __bool__(self) -> bool:
        return bool(self._secrets)

    def in_text(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, MASK)
        return text

    def in_json(self, value: Json) -> Json:
        match value:
            case str():
                return self.in_text(value)
            case dict():
                return {self.in_text(key): self.in_json(item) for key, item in value.items()}
            case list():
                return [self.in_json(item) for item in value]
            case _:
                return value


def _list_secrets(server: Mapping[str, Any]) -> Iterator[str]:
    for key, value in server.items():
        if key not in PLAIN_KEYS:
            yield from _list_values(key, value)


def _list_values(key: str, value: Any) -> Iterator[str]:
    match value:
        case str() if key == "url":
            yield from _list_url_secrets(value)
        case str():
            yield value
            yield from value.split()  # `Bearer …`
        case dict():
            for name, item in value.items():
                yield from _list_values(name, item) if name != "name" else ()
        case list():
            for item in value:
                yield from _list_values("", item)


def _list_url_secrets(url: str) -> Iterator[str]:
    try:
        parts = urlsplit(url)
        yield from (part for part in (parts.username, parts.password, parts.query, parts.fragment) if part)
        yield from (value for _, value in parse_qsl(parts.query))
    except ValueError:
        yield url


def _spell(value: str) -> Iterator[str]:
    encoded = value.encode("utf-8", "surrogatepass")
    yield value
    yield quote(value, safe="", errors="replace")
    yield b64encode(encoded).decode()
    yield urlsafe_b64encode(encoded).decode()
