"""Tokens of an identity provider that are forged, stale, or meant for another service.

The incident: gateways took a token's own word for the algorithm and the key (`none`, HMAC with the public key, `jku`),
or did not check for whom it was made (LiteLLM's JWT bypass; the classes of CVE-2015-9235 and CVE-2022-23539).

The promise: only the issuer's own keys count, with the algorithms of these keys; issuer, audience and end are required;
a principal of the issuer is never one of the token file, and never the person at the machine. A new key of the issuer
is found without a restart, and invented key ids do not make the gateway ask the issuer again and again.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from gateway.errors import Unauthorized
from gateway.web.auth.jwks import KeySet
from gateway.web.auth.oidc import OidcSettings, OidcVerifier
from tests.attacks.callers import MANY_LOGINS, token_of, write_tokens
from tests.attacks.issuer import AUDIENCE, Issuer, new_key, sign, to_jwk
from tests.support.gateway import Gateway, run_input
from tests.web.problem import problem_in

SCOPES = {"*": ["read"], "runner": ["run"], "boss": ["admin", "approve"]}


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    with Issuer() as issuer:
        yield issuer


@pytest.fixture(scope="module")
def guarded(issuer: Issuer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A gateway that takes tokens of the issuer, and of a file."""
    home = tmp_path_factory.mktemp("oidc")
    write_tokens(home / "tokens.json", ann={"scopes": frozenset({"read", "run", "admin"})})
    env = {
        **MANY_LOGINS,
        "AGUI_GATEWAY_OIDC_ISSUER": issuer.url,
        "AGUI_GATEWAY_OIDC_AUDIENCE": AUDIENCE,
        "AGUI_GATEWAY_OIDC_SCOPES": json.dumps(SCOPES),
        "AGUI_GATEWAY_OIDC_LEEWAY": "5",
    }
    with Gateway(home / "home", "--token-file", str(home / "tokens.json"), env=env) as gateway:
        yield gateway


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


def status(gateway: Gateway, token: str, method: str = "GET", path: str = "/agents/echo") -> int:
    return gateway.client.request(method, path, json=run_input(), headers=bearer(token)).status_code


@pytest.mark.parametrize("key_id", ["k1", "k2"])
def test_a_token_of_the_issuer_lets_in(guarded: Gateway, issuer: Issuer, key_id: str) -> None:
    assert status(guarded, issuer.sign(key_id)) == 200


def encode(header: dict[str, Any], claims: dict[str, Any], signature: bytes = b"") -> str:
    parts = (json.dumps(header).encode(), json.dumps(claims).encode(), signature)
    return ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts)


def hmac_token(claims: dict[str, Any], secret: bytes, key_id: str) -> str:
    unsigned = encode({"alg": "HS256", "typ": "JWT", "kid": key_id}, claims).rstrip(".")
    signature = hmac.new(secret, unsigned.encode(), hashlib.sha256).digest()
    return f"{unsigned}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"


def forgeries(issuer: Issuer) -> dict[str, str]:
    good = issuer.sign()
    head, body, signature = good.split(".")
    own = new_key("RS256")
    own_jwk = to_jwk(own, "mine")
    now = int(time.time())
    attacker = {"kid": "mine", "jwk": own_jwk, "jku": f"{issuer.url}/evil", "x5u": f"{issuer.url}/evil"}
    boss = base64.urlsafe_b64encode(json.dumps(issuer.claims(sub="boss")).encode()).rstrip(b"=").decode()
    return {
        "none": encode({"alg": "none", "kid": "k1"}, issuer.claims()),
        "None": encode({"alg": "None", "kid": "k1"}, issuer.claims()),
        "none with a signature": encode({"alg": "none", "kid": "k1"}, issuer.claims(), b"x"),
        "no signature": f"{head}.{body}.",
        "another body": f"{head}.{boss}.{signature}",
        "HMAC with the public key": hmac_token(issuer.claims(), issuer.public_pem(), "k1"),
        "HMAC with the key set": hmac_token(issuer.claims(), json.dumps(issuer.document("/keys")).encode(), "k1"),
        "a key of the attacker in its header": sign(issuer.claims(), own, "RS256", attacker),
        "…under a known id": sign(issuer.claims(), own, "RS256", {**attacker, "kid": "k1"}),
        "…without an id": sign(issuer.claims(), own, "RS256", {"jwk": own_jwk}),
        "an id that is a path": issuer.sign(headers={"kid": "../../k1"}),
        "an id that is no text": sign(issuer.claims(), own, "RS256", {}),
        "another algorithm of the key": sign(issuer.claims(), new_key("ES256"), "ES256", {"kid": "k1"}),
        "another audience": issuer.sign(aud="another-service"),
        "no audience": issuer.sign(aud=None),
        "another issuer": issuer.sign(iss="https://evil.example"),
        "an issuer with a slash": issuer.sign(iss=f"{issuer.url}/"),
        "no issuer": issuer.sign(iss=None),
        "expired": issuer.sign(exp=now - 60),
        "no end": issuer.sign(exp=None),
        "not valid yet": issuer.sign(nbf=now + 3600),
        "no subject": issuer.sign(sub=None),
        "an empty subject": issuer.sign(sub=""),
        "a subject that is a list": encode({"alg": "RS256", "kid": "k1"}, issuer.claims(sub=["ann"])),
        "too long": issuer.sign(sub="x" * 20_000),
        "no JWT": "a.b.c",
        "dots": "..",
    }


def test_a_forged_token_does_not(guarded: Gateway, issuer: Issuer) -> None:
    let_in = {}
    for name, token in forgeries(issuer).items():
        response = guarded.client.get("/agents/echo", headers=bearer(token))
        if response.status_code != 401:
            let_in[name] = response.text
    assert let_in == {}
    assert "Traceback" not in guarded.log.read_text()


def test_the_gateway_fetches_nothing_that_a_token_names(guarded: Gateway, issuer: Issuer) -> None:
    for token in forgeries(issuer).values():
        guarded.client.get("/agents/echo", headers=bearer(token))
    assert set(issuer.requests) <= {"/.well-known/openid-configuration", "/keys"}


def test_claims_become_scopes(guarded: Gateway, issuer: Issuer) -> None:
    reader, runner = issuer.sign(), issuer.sign(scope="openid runner")
    assert [status(guarded, token, "POST") for token in (reader, runner)] == [403, 200]
    register = ("PUT", "/agents/mine")  # an invalid definition: 422 for those who may send one
    assert status(guarded, runner, *register) == 403
    assert status(guarded, issuer.sign(scope=["boss"]), *register) == 422
    assert status(guarded, issuer.sign(scope="admin * read"), *register) == 403


@pytest.mark.parametrize("subject", ["ann", "local", "oidc:ann", "proxy:ann", "token-1"])
def test_a_principal_of_the_issuer_is_no_other(guarded: Gateway, issuer: Issuer, subject: str) -> None:
    """The token `ann` of the file has a run; the issuer's `ann` does not see it."""
    body = run_input("secret", runId="anns", threadId="anns")
    assert guarded.client.post("/agents/echo", json=body, headers=bearer(token_of("ann"))).status_code == 200
    token = issuer.sign(sub=subject, scope="runner")
    problem_in(guarded.client.get("/runs/anns/events", headers=bearer(token)), 404, "UNKNOWN_RUN")
    problem_in(guarded.client.get("/agents/echo/threads/anns", headers=bearer(token)), 404, "UNKNOWN_THREAD")


def test_a_stream_ends_with_its_token(guarded: Gateway, issuer: Issuer) -> None:
    """Five seconds after the token, which is the leeway here."""
    token = issuer.sign(exp=int(time.time()) - 2)
    headers = {**bearer(token), "accept": "text/event-stream"}
    with guarded.client.stream("GET", "/agents/echo/capabilities", headers=headers, timeout=20) as stream:
        assert stream.status_code == 200
        for _ in stream.iter_raw():
            pass
    assert status(guarded, token) == 401


def verifier(issuer: Issuer, min_pause: float = 0.0, **changes: Any) -> OidcVerifier:
    settings = OidcSettings(issuer.url, AUDIENCE, None, "sub", "scope", SCOPES, 5.0)
    return OidcVerifier(settings, KeySet(issuer.url, changes.get("jwks_url"), min_pause))


@pytest.mark.anyio
async def test_a_new_key_is_found_and_an_old_one_forgotten() -> None:
    with Issuer() as issuer:
        oidc = verifier(issuer)
        old = issuer.sign()
        assert (await oidc.find(old)).principal == "oidc:ann"
        issuer.keys = {"k9": ("EdDSA", new_key("EdDSA"))}
        assert (await oidc.find(issuer.sign("k9"))).principal == "oidc:ann"
        with pytest.raises(Unauthorized):
            await oidc.find(old)


@pytest.mark.anyio
async def test_invented_keys_do_not_flood_the_issuer() -> None:
    with Issuer() as issuer:
        oidc = verifier(issuer, min_pause=60.0)
        await oidc.find(issuer.sign())
        before = len(issuer.requests)
        for number in range(50):
            with pytest.raises(Unauthorized):
                await oidc.find(issuer.sign(headers={"kid": f"invented-{number}"}))
        assert len(issuer.requests) == before


@pytest.mark.anyio
async def test_keys_that_are_not_for_signatures_are_no_keys() -> None:
    with Issuer() as issuer:
        secret = base64.urlsafe_b64encode(b"x" * 32).decode()
        rsa = new_key("RS256")
        issuer.extra_keys = [
            {"kty": "oct", "k": secret, "kid": "oct", "alg": "HS256"},
            {**to_jwk(rsa, "enc"), "use": "enc"},
            {**to_jwk(rsa, "hmac"), "alg": "HS256"},
            {"kty": "RSA", "kid": "broken"},
            "nonsense",  # type: ignore[list-item]
        ]
        oidc = verifier(issuer)
        assert (await oidc.find(issuer.sign())).principal == "oidc:ann"
        for token in (
            hmac_token(issuer.claims(), b"x" * 32, "oct"),
            sign(issuer.claims(), rsa, "RS256", {"kid": "enc"}),
        ):
            with pytest.raises(Unauthorized):
                await oidc.find(token)


@pytest.mark.anyio
async def test_an_issuer_that_names_another_is_not_believed() -> None:
    with Issuer() as issuer, Issuer() as other:
        document = {"issuer": other.url, "jwks_uri": f"{other.url}/keys"}
        issuer.document = lambda path: document  # type: ignore[method-assign]
        with pytest.raises(Exception, match="another issuer"), anyio.fail_after(20):
            await verifier(issuer).find(other.sign(iss=issuer.url))
        assert other.requests == []


def test_an_issuer_that_is_away_is_no_reason_to_let_anyone_in(tmp_path: Path) -> None:
    with Issuer() as issuer:
        token = issuer.sign()
    env = {"AGUI_GATEWAY_OIDC_ISSUER": issuer.url, "AGUI_GATEWAY_OIDC_AUDIENCE": AUDIENCE}
    with Gateway(tmp_path, env=env) as gateway:
        problem_in(gateway.client.get("/agents", headers=bearer(token)), 503, "ISSUER_UNAVAILABLE")
        problem_in(gateway.client.get("/agents"), 401, "UNAUTHORIZED")
