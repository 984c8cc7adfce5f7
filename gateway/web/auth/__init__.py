"""Who calls: the user of a local process, a token, an identity provider's token, or a proxy's header.

In: a request's headers and its connection. Out: a `Caller`, or the reason why the request is refused. The names to
know: `authenticator.Authenticator` (the order of the ways), `token_file` and `tokens`, `local_user` and `local_token`
(the person at the machine), `oidc`, `proxies`, `live_requests` (what ends when a credential ends).
"""
