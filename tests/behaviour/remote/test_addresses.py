"""The address policy at work: registered agents and redirects. The policy itself is tested in `tests/drivers`."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

from tests.support.gateway import Gateway


def test_a_registered_agent_may_not_be_on_loopback_unless_the_operator_allows_it(
    gateway: Gateway, tmp_path: Path
) -> None:
    remote = {"url": f"{gateway.url}/agents/echo", "retries": 0}
    body = {"driver": "remote", "identity": {"name": "Near"}, "remote": remote}
    for setting, end in (("false", "RUN_ERROR"), ("true", "RUN_FINISHED")):
        env = {"AGUI_GATEWAY_ALLOW_PRIVATE_ADDRESSES": setting}
        with Gateway(tmp_path / setting, env=env) as near:
            assert near.client.put("/agents/inner", json=body).status_code == 201
            last = near.run("inner")[-1]
            assert last["type"] == end
            if setting == "false":
                assert "private address" in last["message"]
                agent = near.client.get("/agents/inner").json()
                assert agent["availability"]["status"] == "broken"


def test_a_redirect_is_not_followed(gateway: Gateway, tmp_path: Path) -> None:
    class Redirect(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.send_response(307)
            self.send_header("location", f"{gateway.url}/agents/echo")
            self.send_header("content-length", "0")
            self.end_headers()

        do_GET = do_POST

        def log_message(self, format: str, *args: Any) -> None:
            return None

    with HTTPServer(("127.0.0.1", 0), Redirect) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        agents = tmp_path / "agents"
        agents.mkdir()
        url = f"http://127.0.0.1:{server.server_port}"
        text = f'id = "moved"\ndriver = "remote"\nidentity.name = "M"\nremote.url = "{url}"\n'
        (agents / "moved.toml").write_text(text)
        with Gateway(tmp_path / "home", "--agents", str(agents)) as near:
            last = near.run("moved")[-1]
        server.shutdown()
    assert (last["type"], "307" in last["message"]) == ("RUN_ERROR", True)
