"""Tokens of an identity provider: JWTs (RFC 7519) that an OpenID Connect issuer has signed.

In: a JWT as a client sends it. Out: its `Caller`: the principal `oidc:` + claim, and scopes by the operator's table.
Signatures are checked with the issuer's own keys only, found by discovery or at `oidc_jwks_url`. Never: a key that the
token itself names or carries (`jku`, `x5u`, `jwk`), a symmetric algorithm, `none`, or a token without an end.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import jwt

from gateway.errors import Busy, Unauthorized
from gateway.identity import OIDC_PREFIX, SCOPES, Caller
from gateway.web.auth.jwks import IssuerUnavailable, KeySet

MAX_JWT_CHARS = 16 * 1024
MAX_PRINCIPAL_CHARS = 256
ALL_VALUES = "*"
"""In the table of scopes: for every token of the issuer."""


@dataclass(frozen=True, slots=True)
class OidcSettings:
    issuer: str
    audience: str
    jwks_url: str | None
    principal_claim: str
    scope_claim: str
    scopes: Mapping[str, Iterable[str]]
    """A value of the claim, or `*` → the gateway's scopes."""
    leeway: float
    """Seconds by which the clocks may differ."""


class OidcVerifier:
    def __init__(self, settings: OidcSettings, keys: KeySet | None = None) -> None:
        self._settings = settings
        self._keys = keys or KeySet(settings.issuer, settings.jwks_url)

    async def find(self, token: str) -> Caller:
        """Raises `Unauthorized` with the reason, `Busy` where the issuer's keys cannot be had."""
        if len(token) > MAX_JWT_CHARS:
            raise _refuse("it is too long")
        try:
            header = jwt.get_unverified_header(token)
        except jwt.PyJWTError as exc:
            raise _refuse("it is no JWT") from exc
        key_id = header.get("kid")
        try:
            key = await self._keys.find(key_id if isinstance(key_id, str) else None)
        except IssuerUnavailable as exc:
            raise Busy(
                f"the keys of {self._settings.issuer} cannot be read now, so no token of it can be checked: {exc}",
                code="ISSUER_UNAVAILABLE",
            ) from exc
        if key is None:
            raise _refuse(f"it is signed with a key that {self._settings.issuer} does not have")
        try:
            # The algorithms are those of the issuer's key, whatever the token's own header says.
            claims = jwt.decode(
                token,
                key.key,
                algorithms=list(key.algorithms),
                audience=self._settings.audience,
                issuer=self._settings.issuer,
                leeway=self._settings.leeway,
                options={"require": ["exp", "iss", "aud", self._settings.principal_claim]},
            )
        except jwt.PyJWTError as exc:
            raise _refuse(str(exc)) from exc
        return self._to_caller(claims)

    def find_principal(self, principal: str) -> Caller:
        """The principal of an earlier request. What its token allowed was checked then."""
        return Caller(principal, SCOPES, credential="oidc")

    def _to_caller(self, claims: Mapping[str, Any]) -> Caller:
        name = claims[self._settings.principal_claim]
        if not isinstance(name, str) or not name.isprintable() or not 0 < len(name) <= MAX_PRINCIPAL_CHARS:
            raise _refuse(f"its claim {self._settings.principal_claim!r} is no name")
        scopes = {scope for value in self._values(claims) for scope in self._settings.scopes.get(value, ())}
        expires = float(claims["exp"]) + self._settings.leeway
        return Caller(OIDC_PREFIX + name, frozenset(scopes), credential="oidc", expires=expires)

    def _values(self, claims: Mapping[str, Any]) -> list[str]:
        """A claim is a list, or a string with spaces in it as OAuth's `scope` is. A dotted name is a path."""
        value: Any = claims
        for part in self._settings.scope_claim.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        if value is None:
            value = claims.get(self._settings.scope_claim)
        values = value.split() if isinstance(value, str) else value if isinstance(value, list) else []
        return [ALL_VALUES, *(each for each in values if isinstance(each, str) and each != ALL_VALUES)]


def _refuse(reason: str) -> Unauthorized:
    return Unauthorized(f"the token is not accepted: {reason}. Sign in again", code="TOKEN_INVALID")
