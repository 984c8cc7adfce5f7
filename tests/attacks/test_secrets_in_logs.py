"""Bearer tokens in log files.

Attack: the operator starts the gateway with `--verbose` to look for a fault, and sends the log to somebody. Meanwhile a
client has opened a WebSocket and made requests with its token. Promise: no token is in the log, by whatever way it
came; and a client cannot fill the log with errors by being refused.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Subprotocol

from tests.attacks.mcp_stage import REMOTE, SECRETS, make_stage
from tests.behaviour.acp.harness import Talk
from tests.support.gateway import Gateway

TOKEN = "3f1c-token-of-ann-99d2"
WRONG = "3f1c-token-of-eve-0000"


def test_no_token_is_in_the_verbose_log(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.txt"
    tokens.write_text(f"ann:{TOKEN}\n")
    tokens.chmod(0o600)
    with Gateway(tmp_path / "home", "--verbose", "--token-file", str(tokens)) as gateway:
        address = gateway.url.replace("http", "ws", 1) + "/agents/echo/socket"
        with connect(address, additional_headers={"authorization": f"Bearer {TOKEN}"}, proxy=None):
            pass
        with connect(address, subprotocols=[Subprotocol(f"bearer.{TOKEN}"), Subprotocol("ag-ui")], proxy=None):
            pass
        for token in (TOKEN, WRONG):
            gateway.client.get(f"/agents?token={token}", headers={"authorization": f"Bearer {token}"})
        with pytest.raises(InvalidStatus):
            connect(address, additional_headers={"authorization": f"Bearer {WRONG}"}, proxy=None)
        gateway.terminate()
    text = gateway.log.read_text()
    assert "bearer" not in text.lower() and TOKEN not in text and WRONG not in text


def test_secrets_of_mcp_servers_are_not_in_the_verbose_log(tmp_path: Path) -> None:
    with make_stage(tmp_path, "--verbose") as stage:
        talk = Talk(stage, mcpServers=[REMOTE])
        talk.say("hello")
        talk.say("die")
        stage.terminate()
        text = stage.log.read_text()
    assert [secret for secret in SECRETS if secret in text] == []


def test_a_refused_websocket_is_no_error_of_the_gateway(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.txt"
    tokens.write_text(f"ann:{TOKEN}\n")
    tokens.chmod(0o600)
    with Gateway(tmp_path / "home", "--token-file", str(tokens)) as gateway:
        address = gateway.url.replace("http", "ws", 1) + "/agents/echo/socket"
        for headers, status in (({"origin": "http://evil.example"}, 403), ({"authorization": f"Bearer {WRONG}"}, 401)):
            with pytest.raises(InvalidStatus) as refusal:
                connect(address, additional_headers=headers, proxy=None)
            assert refusal.value.response.status_code == status
        gateway.terminate()
    text = gateway.log.read_text()
    assert "ERROR" not in text and "Traceback" not in text
