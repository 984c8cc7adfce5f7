"""Tokens, their principals and their scopes.

In: the operator's token file and a request's `Authorization` header. Out: the principal, which is the token's name.
Never: a token in clear after start; only hashes are kept, and they are compared in constant time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from hmac import compare_digest
from pathlib import Path

from gateway.errors import ConfigError, Unauthorized
from gateway.identity import LOCAL, SCOPES, Caller

MIN_TOKEN_CHARS = 16


@dataclass(frozen=True, slots=True)
class Tokens:
    hashes: tuple[tuple[str, bytes], ...] = ()
    """Principal and the hash of its token."""
    limited: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Principals that do not have all scopes → the scopes that they have."""

    def __bool__(self) -> bool:
        return bool(self.hashes)

    def authenticate(self, authorization: str | None) -> Caller:
        """Raises `Unauthorized`. Every hash is compared, so that the time taken reveals nothing."""
        if not self.hashes:
            return Caller()
        scheme, _, token = (authorization or "").partition(" ")
        digest = sha256(token.strip().encode()).digest()
        matches = [name for name, known in self.hashes if compare_digest(known, digest)]
        if scheme.lower() != "bearer" or not matches:
            reason = "no token was sent" if not authorization else "the token is not known"
            raise Unauthorized(f"{reason}: send `Authorization: Bearer TOKEN` with one from the gateway's token file")
        return Caller(matches[0], self.limited.get(matches[0], SCOPES))


def load_tokens(path: Path | None) -> Tokens:
    """One token a line: `name:token`, `name[read,run]:token` for one without all scopes, or just the token. A `#`
    begins a comment. Raises `ConfigError`."""
    if path is None:
        return Tokens()
    hashes: dict[str, bytes] = {}
    limited: dict[str, frozenset[str]] = {}
    for number, line in enumerate(_read_lines(path), 1):
        text = line.partition("#")[0].strip()
        if not text:
            continue
        prefix, separator, token = text.rpartition(":")
        name, bracket, scopes = prefix.partition("[")
        name = name.strip() if separator else f"token-{number}"
        if bracket:
            limited[name] = _parse_scopes(scopes, f"{path}:{number}")
        if len(token) < MIN_TOKEN_CHARS:
            raise ConfigError(f"{path}:{number}: a token has at least {MIN_TOKEN_CHARS} characters")
        if name in hashes or name == LOCAL:
            raise ConfigError(f"{path}:{number}: the name {name!r} is taken")
        hashes[name] = sha256(token.encode()).digest()
    if not hashes:
        raise ConfigError(f"{path}: there is no token in it; write one, for example: openssl rand -hex 24 > {path}")
    return Tokens(tuple(hashes.items()), limited)


def _read_lines(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) else "not UTF-8"
        hint = f"write one, for example: openssl rand -hex 24 > {path}"
        raise ConfigError(f"{path}: the token file cannot be read ({reason}); {hint}") from exc


def _parse_scopes(text: str, location: str) -> frozenset[str]:
    scopes = {scope.strip() for scope in text.strip().removesuffix("]").split(",")}
    if not text.strip().endswith("]") or not scopes <= SCOPES:
        raise ConfigError(f"{location}: scopes are written as name[read,run]:token, of {', '.join(sorted(SCOPES))}")
    return frozenset(scopes)
