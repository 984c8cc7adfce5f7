"""The public keys of an identity provider (JWK Set, RFC 7517), fetched when needed and kept.

In: a key's id. Out: the key, with the algorithms that may be used with it. The keys are read again after an hour, and
when a token names a key that is not known yet, but not more often than every few seconds: anybody can invent ids.
Answers are bounded in size, redirects are not followed. Never: symmetric keys, keys for encryption, algorithms that do
not belong to the key.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import anyio
import httpx2
import jwt
import orjson

MAX_DOCUMENT_BYTES = 512 * 1024
MAX_KEYS = 100
FETCH_SECONDS = 10.0
REFRESH_SECONDS = 3600.0
MIN_PAUSE_SECONDS = 5.0
"""Between two fetches."""
DISCOVERY_PATH = "/.well-known/openid-configuration"

ALGORITHMS = {
    ("RSA", None): ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    ("EC", "P-256"): ("ES256",),
    ("EC", "P-384"): ("ES384",),
    ("EC", "P-521"): ("ES512",),
    ("OKP", "Ed25519"): ("EdDSA",),
}
"""Key type and curve → the algorithms that may be used. Asymmetric ones only."""


class IssuerUnavailable(Exception):
    """Why the keys cannot be read."""


@dataclass(frozen=True, slots=True)
class IssuerKey:
    id: str | None
    key: Any
    algorithms: tuple[str, ...]


class KeySet:
    def __init__(self, issuer: str, jwks_url: str | None, min_pause: float = MIN_PAUSE_SECONDS) -> None:
        """`jwks_url`: where the keys are; None: where the issuer's discovery document says."""
        self._issuer = issuer
        self._jwks_url = jwks_url
        self._min_pause = min_pause
        self._keys: tuple[IssuerKey, ...] = ()
        self._fetched = -REFRESH_SECONDS
        self._tried = -REFRESH_SECONDS
        self._failure: str | None = None
        self._lock = anyio.Lock()

    async def find(self, key_id: str | None) -> IssuerKey | None:
        """The key with this id; without an id the only key. None: there is none. Raises `IssuerUnavailable`."""
        key = self._pick(key_id)
        if key is None or time.monotonic() - self._fetched >= REFRESH_SECONDS:
            await self._fetch()
            key = self._pick(key_id)
        if key is None and not self._keys:
            raise IssuerUnavailable(self._failure or "it has no key that can be used")
        return key

    def _pick(self, key_id: str | None) -> IssuerKey | None:
        if key_id is None:
            return self._keys[0] if len(self._keys) == 1 else None
        return next((key for key in self._keys if key.id == key_id), None)

    async def _fetch(self) -> None:
        """Keeps the keys that are known where the issuer does not answer."""
        async with self._lock:
            if time.monotonic() - self._tried < self._min_pause:
                return
            self._tried = time.monotonic()
            try:
                with anyio.fail_after(FETCH_SECONDS):
                    async with httpx2.AsyncClient(timeout=FETCH_SECONDS, follow_redirects=False) as client:
                        url = self._jwks_url or await self._discover(client)
                        self._keys = _read_keys(await _get_json(client, url))
            except (httpx2.HTTPError, httpx2.InvalidURL, TimeoutError, ValueError) as exc:
                self._failure = str(exc) or type(exc).__name__
                return
            self._failure = None
            self._fetched = time.monotonic()

    async def _discover(self, client: httpx2.AsyncClient) -> str:
        document = await _get_json(client, self._issuer.rstrip("/") + DISCOVERY_PATH)
        url = document.get("jwks_uri")
        if document.get("issuer") != self._issuer:
            raise ValueError("its discovery document names another issuer")
        if not isinstance(url, str) or (self._issuer.startswith("https:") and not url.startswith("https:")):
            raise ValueError("its discovery document names no jwks_uri with https")
        return url


async def _get_json(client: httpx2.AsyncClient, url: str) -> dict[str, Any]:
    data = b""
    async with client.stream("GET", url, headers={"accept": "application/json"}) as response:
        if response.status_code != 200:
            raise ValueError(f"{url} answered {response.status_code}")
        async for piece in response.aiter_bytes():
            data += piece
            if len(data) > MAX_DOCUMENT_BYTES:
                raise ValueError(f"{url} answered more than {MAX_DOCUMENT_BYTES} bytes")
    document = orjson.loads(data)
    if not isinstance(document, dict):
        raise ValueError(f"{url} answered no JSON object")
    return document


def _read_keys(document: dict[str, Any]) -> tuple[IssuerKey, ...]:
    entries = document.get("keys")
    if not isinstance(entries, list) or len(entries) > MAX_KEYS:
        raise ValueError(f"its key set has no list of at most {MAX_KEYS} keys")
    return tuple(key for entry in entries if (key := _read_key(entry)) is not None)


def _read_key(entry: Any) -> IssuerKey | None:
    """None: a key that is not for signatures, or that is not known here."""
    if not isinstance(entry, dict) or entry.get("use", "sig") != "sig":
        return None
    kind = entry.get("kty")
    algorithms = ALGORITHMS.get((kind, None if kind == "RSA" else entry.get("crv"))) if isinstance(kind, str) else None
    if (stated := entry.get("alg")) is not None and algorithms is not None:
        algorithms = tuple(name for name in algorithms if name == stated)
    if not algorithms:
        return None
    try:
        key = jwt.PyJWK(entry, algorithm=algorithms[0]).key
    except (jwt.PyJWTError, ValueError, TypeError, KeyError):
        return None
    key_id = entry.get("kid")
    return IssuerKey(key_id if isinstance(key_id, str) else None, key, algorithms)
