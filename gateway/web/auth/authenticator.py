"""Who calls: the ways to know a caller, in their order.

In: a request's peer, its headers and the token that it sends. Out: a `Caller`, or a refusal with what to do. The order:
a user that a named proxy has authenticated; a token of the token file; a token of the identity provider; the local
token; the user of the calling process. Where the operator gives out credentials (`token_file`, `oidc_issuer`,
`proxy_user_header`), no caller passes without one.
"""

from __future__ import annotations

from collections.abc import Callable
from hmac import compare_digest

from starlette.datastructures import Headers

from gateway.errors import ConfigError, GatewayError, Unauthorized
from gateway.identity import LOCAL, OIDC_PREFIX, PROXY_PREFIX, Caller
from gateway.settings import Settings
from gateway.web.auth.local_token import choose_local_auth, ensure_local_token, has_credentials, local_token_path
from gateway.web.auth.local_user import Peer
from gateway.web.auth.oidc import OidcSettings, OidcVerifier
from gateway.web.auth.proxies import Proxies
from gateway.web.auth.token_file import hash_token
from gateway.web.auth.tokens import Tokens

LOCAL_CALLER = Caller()


class Authenticator:
    def __init__(self, settings: Settings) -> None:
        """Raises `ConfigError`: a mistake in the token file is reported before the gateway serves."""
        if (settings.oidc_issuer is None) != (settings.oidc_audience is None):
            raise ConfigError("oidc_issuer and oidc_audience are needed together")
        if settings.proxy_user_header is not None and not settings.proxy:
            raise ConfigError("proxy_user_header needs `proxy`: the addresses of the proxies that send it")
        self._tokens = None if settings.token_file is None else Tokens(settings.token_file)
        self._oidc = None if settings.oidc_issuer is None else _to_verifier(settings)
        self.proxies = Proxies(settings.proxy, settings.proxy_user_header, frozenset(settings.proxy_user_scopes))
        self._local = None if has_credentials(settings) else choose_local_auth(settings)
        self._local_hash = hash_token(ensure_local_token()) if self._local == "token" else ""

    @property
    def needs_credential(self) -> bool:
        """Whether every request needs something that a web page of another origin does not have."""
        return self._local in (None, "token")

    async def authenticate(
        self, peer: Peer, is_proxied: bool, headers: Headers, read_token: Callable[[], str | None]
    ) -> Caller:
        """`is_proxied`: the peer is one of the named proxies. `read_token`: that of the request; None: it has none.
        Raises `Unauthorized` and `Forbidden`."""
        if (user := self.proxies.find_user(headers, is_trusted=is_proxied)) is not None:
            return user
        if self._local == "none":
            return LOCAL_CALLER
        if self._local == "user" and not is_proxied:
            await peer.check_user(headers)
            return LOCAL_CALLER
        token = read_token()
        if token is not None and (caller := await self._find_by_token(peer, token)) is not None:
            return caller
        raise self._refuse(token)

    async def _find_by_token(self, peer: Peer, token: str) -> Caller | None:
        if self._tokens is not None and (caller := self._tokens.find(token)) is not None:
            return caller
        if self._oidc is not None and token.count(".") == 2:
            return await self._oidc.find(token)
        if self._local == "token" and compare_digest(self._local_hash, hash_token(token)):
            # An agent runs as the user who may read the local token, so that token is no proof that no agent calls.
            await peer.check_no_agent()
            return Caller(credential="token")
        return None

    def _refuse(self, token: str | None) -> GatewayError:
        reason = "no token was sent" if token is None else "the token is not known, or has expired"
        if self._local == "user":
            detail = "a request that comes through a proxy needs a token"
            return Unauthorized(f"{detail}: start the gateway with --token-file (agui-gateway token add NAME)")
        if self._local == "token":
            where = f"open the URL that the gateway printed when it started, or send the token in {local_token_path()}"
            return Unauthorized(f"{reason}: {where} as `Authorization: Bearer TOKEN`")
        advice = "send `Authorization: Bearer TOKEN`; the gateway's operator makes tokens (agui-gateway token add NAME)"
        if self._tokens is None:
            advice = (
                "sign in at the proxy" if self._oidc is None else "send `Authorization: Bearer TOKEN` of your sign-in"
            )
        return Unauthorized(f"{reason}: {advice}")

    def find_principal(self, principal: str) -> Caller | None:
        """A principal without a request, as it is now: a message that it posted waits for its thread. None: it does
        not exist any more."""
        if principal == LOCAL:
            return None if self._local is None else Caller()
        if principal.startswith(OIDC_PREFIX):
            return None if self._oidc is None else self._oidc.find_principal(principal)
        if principal.startswith(PROXY_PREFIX):
            return self.proxies.find_principal(principal)
        return None if self._tokens is None else self._tokens.find_principal(principal)

    def is_over(self, caller: Caller) -> bool:
        """Whether the credential of a caller that was authenticated earlier is not in force any more."""
        if caller.credential != "token" or caller.principal == LOCAL:
            return False
        return self.find_principal(caller.principal) != caller

    def token_names(self) -> frozenset[str]:
        """The principals whose tokens of the token file are in force."""
        return frozenset() if self._tokens is None else self._tokens.names()

    async def watch(self, on_change: Callable[[], None]) -> None:
        """Until cancelled. `on_change`: called when the credentials that are in force have changed."""
        if self._tokens is not None:
            await self._tokens.watch(on_change)


def _to_verifier(settings: Settings) -> OidcVerifier:
    assert settings.oidc_issuer is not None and settings.oidc_audience is not None
    return OidcVerifier(
        OidcSettings(
            settings.oidc_issuer,
            settings.oidc_audience,
            settings.oidc_jwks_url,
            settings.oidc_principal_claim,
            settings.oidc_scope_claim,
            settings.oidc_scopes,
            settings.oidc_leeway,
        )
    )
