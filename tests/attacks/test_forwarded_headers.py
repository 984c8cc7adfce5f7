"""Headers that only a proxy should write, sent by a client.

The incident: a gateway behind a proxy must believe the proxy about the host, the scheme and the user. One that believes
every peer can be made anybody's (`X-Forwarded-User: admin`), and one that believes a host from anybody gives up its
guard against DNS rebinding.

The promise: forwarded headers count from the proxies that the operator names, and from no other peer; the user's header
must be there exactly once; behind a real TLS proxy the external origin and host are accepted without a further flag,
and every request still needs a credential.
"""

from __future__ import annotations

import os
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from starlette.datastructures import Headers
from websockets.sync.client import connect
from websockets.typing import Origin

from gateway.errors import ConfigError
from gateway.settings import Settings
from gateway.web.auth.authenticator import Authenticator
from gateway.web.auth.proxies import Forwarded, Proxies
from tests.attacks.callers import token_of, write_tokens
from tests.support.gateway import Gateway, run_input
from tests.web.problem import problem_in
from tests.web.raw import ask, request

NAME = "gateway.example.org"
USER_HEADER = "x-forwarded-user"
START_LIMIT = 20.0

NGINX = """
daemon off; master_process off; pid {folder}/nginx.pid; error_log stderr;
events {{}}
http {{
  access_log off;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/f;
  uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  map $http_upgrade $connection_upgrade {{ default upgrade; '' ''; }}
  server {{
    listen 127.0.0.1:{port} ssl;
    ssl_certificate {folder}/cert.pem; ssl_certificate_key {folder}/key.pem;
    location / {{
      proxy_pass {upstream};
      proxy_http_version 1.1;
      proxy_buffering off;
      proxy_set_header X-Forwarded-Host $http_host;
      proxy_set_header X-Forwarded-Proto $scheme;
      proxy_set_header X-Forwarded-For $remote_addr;
      proxy_set_header X-Forwarded-User $http_x_test_user;
      proxy_set_header Upgrade $http_upgrade;
      proxy_set_header Connection $connection_upgrade;
    }}
  }}
}}
"""


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A gateway that trusts a proxy on this machine, which names its users."""
    home = tmp_path_factory.mktemp("proxied")
    headers = write_tokens(home / "tokens.json", ann={})
    flags = ("--token-file", str(home / "tokens.json"), "--proxy", "127.0.0.1")
    with Gateway(home / "home", *flags, env={"AGUI_GATEWAY_PROXY_USER_HEADER": "X-Forwarded-User"}) as gateway:
        gateway.client.headers.update(headers["ann"])
        yield gateway


@pytest.fixture(scope="module")
def direct(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """One whose proxy is another machine: the tests' requests do not come from it."""
    home = tmp_path_factory.mktemp("direct")
    headers = write_tokens(home / "tokens.json", ann={})
    flags = ("--token-file", str(home / "tokens.json"), "--proxy", "192.0.2.0/24")
    with Gateway(home / "home", *flags, env={"AGUI_GATEWAY_PROXY_USER_HEADER": "X-Forwarded-User"}) as gateway:
        gateway.client.headers.update(headers["ann"])
        yield gateway


# -- from another peer


@pytest.mark.parametrize(
    "headers",
    [
        {"x-forwarded-host": "localhost"},
        {"forwarded": "host=localhost;proto=https"},
        {"x-forwarded-host": NAME, "x-forwarded-proto": "https"},
    ],
)
def test_another_peer_forwards_no_host(direct: Gateway, headers: dict[str, str]) -> None:
    problem_in(direct.client.get("/agents", headers={**headers, "host": NAME}), 403, "HOST_NOT_ALLOWED")


@pytest.mark.parametrize("site", [NAME, "localhost"])
def test_another_peer_forwards_no_origin(direct: Gateway, site: str) -> None:
    headers = {"x-forwarded-host": site, "x-forwarded-proto": "https", "origin": f"https://{site}"}
    problem_in(direct.client.get("/agents", headers=headers), 403, "ORIGIN_NOT_ALLOWED")


@pytest.mark.parametrize("with_token", [True, False])
def test_another_peer_names_no_user(direct: Gateway, with_token: bool) -> None:
    headers = {USER_HEADER: "root", "x-forwarded-for": "192.0.2.7"}
    if not with_token:
        headers["authorization"] = ""
    problem_in(direct.client.get("/agents", headers=headers), 403, "PROXY_NOT_TRUSTED")


def test_without_proxies_the_header_says_nothing(gateway: Gateway) -> None:
    response = gateway.client.get(
        "/agents", headers={USER_HEADER: "root", "host": NAME, "x-forwarded-host": "localhost"}
    )
    problem_in(response, 403, "HOST_NOT_ALLOWED")


# -- from the proxy


def test_the_proxys_user_is_a_principal_of_its_own(proxied: Gateway) -> None:
    client = proxied.client
    body = run_input("secret", runId="anns", threadId="anns")
    assert client.post("/agents/echo", json=body).status_code == 200
    for name in ("ann", "local", "proxy:ann"):
        headers = {USER_HEADER: name}
        assert client.get("/agents", headers=headers).status_code == 200
        problem_in(client.get("/runs/anns/events", headers=headers), 404, "UNKNOWN_RUN")
        problem_in(client.put("/agents/mine", json={}, headers=headers), 403, "SCOPE_MISSING")


@pytest.mark.parametrize(
    "lines",
    [
        ["x-forwarded-user: ann", "x-forwarded-user: admin"],
        ["X-Forwarded-User: ann", "x-forwarded-user: ann"],
        ["x-forwarded-user: ann, admin"],
        ["x-forwarded-user: "],
        ["x-forwarded-user: a\u00e9"],
        ["x-forwarded-user: " + "x" * 300],
    ],
)
def test_a_user_that_is_not_exactly_one_name_is_refused(proxied: Gateway, lines: list[str]) -> None:
    response = ask(proxied, request("/agents", headers=[*lines, "connection: close"]))
    problem_in(response, 401, "PROXY_USER_INVALID")


def test_the_proxys_requests_need_a_credential(proxied: Gateway) -> None:
    headers = {"authorization": "", "x-forwarded-host": NAME, "x-forwarded-for": "127.0.0.1"}
    problem_in(proxied.client.get("/agents", headers=headers), 401, "UNAUTHORIZED")


def test_without_tokens_a_proxy_does_not_make_its_clients_local(tmp_path: Path) -> None:
    """The proxy runs as the gateway's own user; its clients are not that user."""
    with Gateway(tmp_path, "--proxy", "127.0.0.1") as gateway:
        problem_in(gateway.client.get("/agents"), 401, "UNAUTHORIZED")
        problem_in(gateway.client.put("/agents/mine", json={}), 401, "UNAUTHORIZED")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"x-forwarded-host": NAME, "x-forwarded-proto": "https", "origin": f"https://{NAME}"}, 200),
        ({"forwarded": f'for=192.0.2.7;host="{NAME}";proto=https', "origin": f"https://{NAME}"}, 200),
        ({"host": NAME, "x-forwarded-proto": "https", "origin": f"https://{NAME}"}, 200),
        ({"x-forwarded-host": NAME, "x-forwarded-proto": "https", "origin": "https://evil.example"}, 403),
        ({"x-forwarded-host": NAME, "x-forwarded-proto": "https", "origin": f"http://{NAME}"}, 403),
        ({"x-forwarded-host": f"evil.example, {NAME}", "origin": "http://evil.example"}, 403),
        ({"x-forwarded-host": f"{NAME}@evil.example"}, 403),
        ({"x-forwarded-proto": "javascript"}, 400),
    ],
)
def test_host_and_origin_are_those_that_the_proxy_forwards(
    proxied: Gateway, headers: dict[str, str], status: int
) -> None:
    assert proxied.client.get("/agents", headers=headers).status_code == status


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ([("x-forwarded-for", "6.6.6.6, 192.0.2.7")], "192.0.2.7"),
        ([("x-forwarded-for", "6.6.6.6, 192.0.2.7, 127.0.0.1")], "192.0.2.7"),
        ([("x-forwarded-for", "6.6.6.6"), ("x-forwarded-for", "[2001:db8::7]:4711")], "2001:db8::7"),
        ([("x-forwarded-for", "unknown")], None),
        ([("forwarded", 'for=6.6.6.6, for="[2001:db8::7]:1"')], "2001:db8::7"),
        ([("forwarded", "for=6.6.6.6;;;\\")], None),
    ],
)
def test_the_client_is_the_last_that_is_no_proxy(headers: list[tuple[str, str]], expected: str | None) -> None:
    proxies = Proxies(["127.0.0.1"], None, frozenset())
    raw = [(name.encode(), value.encode()) for name, value in headers]
    assert proxies.read(Headers(raw=raw)) == Forwarded(client=expected)


def test_a_users_header_needs_named_proxies() -> None:
    with pytest.raises(ConfigError, match="needs `proxy`"):
        Authenticator(Settings(proxy_user_header="X-Forwarded-User"))


# -- a real TLS proxy


def write_certificate(folder: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, NAME)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(NAME)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    (folder / "cert.pem").write_bytes(certificate.public_bytes(Encoding.PEM))
    (folder / "key.pem").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()))


@contextmanager
def nginx(folder: Path, upstream: str) -> Iterator[int]:
    """Its port."""
    folder.mkdir(parents=True, exist_ok=True)
    write_certificate(folder)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    (folder / "nginx.conf").write_text(NGINX.format(folder=folder, port=port, upstream=upstream))
    with (folder / "stderr.txt").open("w") as stderr:
        command = [str(shutil.which("nginx")), "-c", str(folder / "nginx.conf"), "-p", str(folder), "-e", "stderr"]
        process = subprocess.Popen(command, stderr=stderr)
    try:
        deadline = time.monotonic() + START_LIMIT
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                assert process.poll() is None and time.monotonic() < deadline, (folder / "stderr.txt").read_text()
                time.sleep(0.05)
        yield port
    finally:
        process.terminate()
        process.wait(START_LIMIT)


@pytest.mark.skipif(
    shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin") is None, reason="nginx is not installed"
)
def test_behind_nginx_with_tls_the_console_works_without_a_further_flag(
    proxied: Gateway, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{os.environ['PATH']}:/usr/sbin")
    with nginx(tmp_path / "nginx", proxied.url) as port:
        context = ssl.create_default_context(cafile=str(tmp_path / "nginx" / "cert.pem"))
        site = f"{NAME}:{port}"
        token = {"authorization": f"Bearer {token_of('ann')}"}
        page = {"host": site, "origin": f"https://{site}", "sec-fetch-site": "same-origin"}
        extensions = {"sni_hostname": NAME}
        with httpx.Client(base_url=f"https://127.0.0.1:{port}", verify=context, timeout=30) as client:

            def get(path: str, headers: dict[str, str]) -> httpx.Response:
                return client.get(path, headers=headers, extensions=extensions)

            assert get("/", {**page, "accept": "text/html"}).status_code == 200
            assert get("/agents", {**page, **token}).status_code == 200
            run = client.post(
                "/agents/echo", json=run_input("by tls"), headers={**page, **token}, extensions=extensions
            )
            assert run.status_code == 200 and "by tls" in run.text
            problem_in(get("/agents", page), 401, "UNAUTHORIZED")
            problem_in(get("/agents", {**page, **token, "origin": "https://evil.example"}), 403, "ORIGIN_NOT_ALLOWED")
            assert get("/agents", {**page, "x-test-user": "sam"}).status_code == 200
            forged = {**page, USER_HEADER: "root"}  # nginx replaces it
            problem_in(get("/agents", forged), 401, "UNAUTHORIZED")
        raw = socket.create_connection(("127.0.0.1", port), timeout=30)
        url = f"wss://{site}/agents/echo/socket"
        with connect(
            url, sock=raw, ssl=context, server_hostname=NAME, origin=Origin(f"https://{site}"), additional_headers=token
        ) as opened:
            opened.send('{"type": "nonsense"}')
            assert "problem" in str(opened.recv(timeout=30))
