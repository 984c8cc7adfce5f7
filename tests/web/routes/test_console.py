"""The console as it is served: files under a strict policy, nothing from elsewhere, small, and open without a token."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import httpx
import pytest

from gateway.web.routes.console import FOLDER, TYPES
from tests.support.gateway import Gateway
from tests.web.conftest import Guarded
from tests.web.problem import problem_in
from tests.web.raw import ask

BROWSER = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
FIRST_LOAD = 160_000
"""Bytes: all of the console, compressed."""

FILES = sorted(path for path in FOLDER.rglob("*") if path.is_file())
SCRIPTS = [path for path in FILES if path.suffix == ".js"]


def path_name(path: Path) -> str:
    return path.relative_to(FOLDER).as_posix()


def policy(response: httpx.Response) -> dict[str, str]:
    parts = (part.strip().partition(" ") for part in response.headers["content-security-policy"].split(";"))
    return {name: rest for name, _, rest in parts}


# -- served


def test_a_browser_gets_the_page_and_a_program_the_routes(gateway: Gateway) -> None:
    page = gateway.client.get("/", headers=BROWSER)
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "<!doctype html>" in page.text
    for accept in ("application/json", "*/*"):
        answer = gateway.client.get("/", headers={"accept": accept})
        assert "GET /agents" in answer.json()["routes"]


def test_every_file_is_served_as_what_it_is(gateway: Gateway) -> None:
    for path in FILES:
        response = gateway.client.get(f"/console/{path_name(path)}")
        assert (response.status_code, response.headers["content-type"]) == (200, TYPES[path.suffix]), path_name(path)
        assert response.content == path.read_bytes(), path_name(path)


def test_the_policy_lets_nothing_in_from_elsewhere_and_nothing_inline(gateway: Gateway) -> None:
    for response in (gateway.client.get("/", headers=BROWSER), gateway.client.get("/console/main.js")):
        allowed = policy(response)
        assert allowed["default-src"] == "'none'"
        assert {allowed[name] for name in ("script-src", "style-src", "connect-src")} == {"'self'"}
        assert {allowed[name] for name in ("base-uri", "form-action", "frame-ancestors")} == {"'none'"}
        assert not re.search(r"unsafe|https?:|\*", response.headers["content-security-policy"])
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["referrer-policy"] == "no-referrer"


def test_a_file_that_the_browser_has_is_not_sent_again(gateway: Gateway) -> None:
    first = gateway.client.get("/console/main.js")
    again = gateway.client.get("/console/main.js", headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", first.headers["etag"])
    assert gateway.client.get("/console/main.js", headers={"if-none-match": '"another"'}).status_code == 200


def test_a_file_is_compressed_for_a_client_that_accepts_it(gateway: Gateway) -> None:
    packed = gateway.client.get("/console/main.js", headers={"accept-encoding": "gzip"})
    plain = gateway.client.get("/console/main.js", headers={"accept-encoding": "identity"})
    assert packed.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain.headers
    assert packed.content == plain.content
    assert int(packed.headers["content-length"]) < int(plain.headers["content-length"]) / 2
    assert "accept-encoding" in packed.headers["vary"]


@pytest.mark.parametrize(
    "path", ["nothing.js", "", "lib", "lib/", "../console.py", "%2e%2e/console.py", "lib/../../errors.py"]
)
def test_what_is_no_file_of_the_console_is_not_found(gateway: Gateway, path: str) -> None:
    # Raw: a client would tidy the path before it is sent.
    response = ask(gateway, f"GET /console/{path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n".encode())
    assert response is not None
    assert response.status_code == 404


def test_the_page_is_open_without_a_token_and_its_data_are_not(guarded: Guarded) -> None:
    client = guarded.gateway.client
    assert client.get("/", headers=BROWSER).status_code == 200
    assert client.get("/console/main.js").status_code == 200
    for path in ("/agents", "/agents/demo/capabilities", "/capabilities/matrix", "/"):
        problem_in(client.get(path, headers={"accept": "application/json"}), 401, "UNAUTHORIZED")
    assert client.get("/agents", headers=guarded.ann).status_code == 200


# -- what is in the files


def test_no_script_makes_html_or_code_of_a_string() -> None:
    markup = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|createContextualFragment|srcdoc"
    code = r"\beval\(|new Function|setAttribute\(\s*[\"'](?:on|style)"
    for path in SCRIPTS:
        assert re.findall(f"{markup}|{code}", path.read_text()) == [], path_name(path)


def test_no_file_names_another_host() -> None:
    for path in FILES:
        # A namespace is a name, not an address.
        text = path.read_text().replace("http://www.w3.org/2000/svg", "")
        hosts = re.findall(r"""(?:https?:|["'`(])//([a-z0-9-]+(?:\.[a-z0-9-]+)+)""", text)
        assert hosts == [], path_name(path)
        assert not re.search(r"@import|url\(\s*[\"']?(?:https?:)?//", text), path_name(path)


def test_the_page_has_nothing_inline() -> None:
    text = (FOLDER / "index.html").read_text()
    assert not re.search(r"<style|\sstyle=|\son[a-z]+=|javascript:", text)
    assert re.findall(r"<script([^>]*)>(.*?)</script>", text) == [(' type="module" src="console/main.js"', "")]


def test_a_file_is_short_enough_to_be_read() -> None:
    lengths = {path_name(path): len(path.read_text().splitlines()) for path in FILES if path.suffix in (".js", ".css")}
    assert {name: length for name, length in lengths.items() if length > 400} == {}


def test_what_a_script_imports_is_there() -> None:
    for path in SCRIPTS:
        for name in re.findall(r"(?:from|import\(|lazily\()\s*\"(\.[^\"]+)\"", path.read_text()):
            assert (path.parent / name).resolve() in FILES, f"{path_name(path)} wants {name}"


def test_all_of_it_is_a_small_load() -> None:
    packed = {path_name(path): len(gzip.compress(path.read_bytes(), 9)) for path in FILES}
    assert sum(packed.values()) < FIRST_LOAD, packed
