"""An OpenID Connect issuer on loopback: a real HTTP server with real keys, that signs whatever a test wants."""

from __future__ import annotations

import json
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import TracebackType
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

AUDIENCE = "agui-gateway"


def new_key(kind: str) -> Any:
    match kind:
        case "RS256":
            return rsa.generate_private_key(public_exponent=65537, key_size=2048)
        case "ES256":
            return ec.generate_private_key(ec.SECP256R1())
        case _:
            return ed25519.Ed25519PrivateKey.generate()


def to_jwk(key: Any, key_id: str) -> dict[str, Any]:
    algorithm: Any = OKPAlgorithm
    if isinstance(key, rsa.RSAPrivateKey):
        algorithm = RSAAlgorithm
    elif isinstance(key, ec.EllipticCurvePrivateKey):
        algorithm = ECAlgorithm
    return {**json.loads(algorithm.to_jwk(key.public_key())), "kid": key_id, "use": "sig"}


class Issuer:
    def __init__(self) -> None:
        self.keys: dict[str, tuple[str, Any]] = {"k1": ("RS256", new_key("RS256")), "k2": ("ES256", new_key("ES256"))}
        self.extra_keys: list[dict[str, Any]] = []
        self.requests: list[str] = []
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                issuer.requests.append(self.path)
                body = json.dumps(issuer.document(self.path)).encode()
                self.send_response(200)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> Issuer:
        self._thread.start()
        return self

    def __exit__(self, *exc: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def document(self, path: str) -> Any:
        if path == "/.well-known/openid-configuration":
            return {"issuer": self.url, "jwks_uri": f"{self.url}/keys"}
        return {"keys": [*(to_jwk(key, key_id) for key_id, (_, key) in self.keys.items()), *self.extra_keys]}

    def claims(self, **changes: Any) -> dict[str, Any]:
        """Those of a good token. A change to None leaves the claim out."""
        now = int(time.time())
        claims = {"iss": self.url, "aud": AUDIENCE, "sub": "ann", "iat": now, "nbf": now, "exp": now + 300, **changes}
        return {name: value for name, value in claims.items() if value is not None}

    def sign(self, key_id: str = "k1", headers: dict[str, Any] | None = None, **changes: Any) -> str:
        algorithm, key = self.keys[key_id]
        return sign(self.claims(**changes), key, algorithm, {"kid": key_id, **(headers or {})})

    def public_pem(self, key_id: str = "k1") -> bytes:
        key: rsa.RSAPrivateKey = self.keys[key_id][1]
        return key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def sign(claims: dict[str, Any], key: Any, algorithm: str, headers: dict[str, Any]) -> str:
    return jwt.encode(claims, key, algorithm=algorithm, headers=headers)
