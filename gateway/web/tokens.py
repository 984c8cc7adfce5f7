"""Who is calling. Tokens are kept hashed and compared in constant time; a token's name is its principal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from hmac import compare_digest
from pathlib import Path

from gateway.errors import ConfigError, Forbidden, Unauthorized
from gateway.identity import LOCAL

MIN_LENGTH = 16
SCOPES = frozenset(("read", "run", "admin"))
"""`read`: look. `run`: start and stop runs, set up and delete threads. `admin`: everything else."""


@dataclass(frozen=True, slots=True)
class Tokens:
    hashes: tuple[tuple[str, bytes], ...] = ()
    limited: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Tokens that may not do everything → what they may."""

    def __bool__(self) -> bool:
        return bool(self.hashes)

    def principal(self, authorization: str | None) -> str:
        """Raises `Unauthorized`. Every token is compared, so that time tells nothing."""
        if not self.hashes:
            return LOCAL
        scheme, _, token = (authorization or "").partition(" ")
        given = sha256(token.strip().encode()).digest()
        found = [name for name, known in self.hashes if compare_digest(known, given)]
        if scheme.lower() != "bearer" or not found:
            why = "no token was sent" if not authorization else "the token is not known"
            raise Unauthorized(f"{why}: send `Authorization: Bearer TOKEN` with one from the gateway's token file")
        return found[0]

    def require(self, principal: str, scope: str) -> None:
        """Raises `Forbidden` when the principal's token does not have the scope."""
        scopes = self.limited.get(principal, SCOPES)
        if scope not in scopes:
            has = ", ".join(sorted(scopes)) or "none"
            raise Forbidden(f"this needs the scope {scope!r}; the token {principal!r} has {has}", code="SCOPE_MISSING")


def load_tokens(path: Path | None) -> Tokens:
    """One token a line: `name:token`, `name[read,run]:token` for one that may not do everything, or just the token; `#`
    begins a comment."""
    if path is None:
        return Tokens()
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as exc:
        why = exc.strerror if isinstance(exc, OSError) else "not UTF-8"
        hint = f"write one, for example: openssl rand -hex 24 > {path}"
        raise ConfigError(f"{path}: the token file cannot be read ({why}); {hint}") from exc
    found: dict[str, bytes] = {}
    limited: dict[str, frozenset[str]] = {}
    for number, line in enumerate(lines, 1):
        text = line.partition("#")[0].strip()
        if not text:
            continue
        left, separator, token = text.rpartition(":")
        name, bracket, listed = left.partition("[")
        name = name.strip() if separator else f"token-{number}"
        if bracket:
            limited[name] = _scopes(listed, f"{path}:{number}")
        if len(token) < MIN_LENGTH:
            raise ConfigError(f"{path}:{number}: a token has at least {MIN_LENGTH} characters")
        if name in found or name == LOCAL:
            raise ConfigError(f"{path}:{number}: the name {name!r} is taken")
        found[name] = sha256(token.encode()).digest()
    if not found:
        raise ConfigError(f"{path}: there is no token in it; write one, for example: openssl rand -hex 24 > {path}")
    return Tokens(tuple(found.items()), limited)


def _scopes(listed: str, where: str) -> frozenset[str]:
    scopes = {scope.strip() for scope in listed.strip().removesuffix("]").split(",")}
    if not listed.strip().endswith("]") or not scopes <= SCOPES:
        raise ConfigError(f"{where}: scopes are written as name[read,run]:token, of {', '.join(sorted(SCOPES))}")
    return frozenset(scopes)
