"""`WS /agents/{agent}/socket`: runs over one WebSocket, as a client sees them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

from gateway.encode.protobuf.decoder import FrameDecoder
from tests.agui.replay import accepted
from tests.drivers.process_watch import until
from tests.support.gateway import Gateway, run_input, text_of, types_of

LIMIT = 30.0
Message = dict[str, Any]


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with Gateway(tmp_path_factory.mktemp("socket")) as running:
        yield running


@contextmanager
def opened(gateway: Gateway, agent: str = "demo", *offers: str, **more: Any) -> Iterator[ClientConnection]:
    address = gateway.url.replace("http", "ws", 1) + f"/agents/{agent}/socket"
    names = [Subprotocol(name) for name in offers] or None
    with connect(address, subprotocols=names, open_timeout=LIMIT, proxy=None, max_size=None, **more) as socket:
        yield socket


def send_message(socket: ClientConnection, kind: str, **fields: Any) -> None:
    socket.send(json.dumps({"type": kind, **fields}))


def receive(socket: ClientConnection) -> Message:
    """One message, of either kind, as the same object."""
    answer = socket.recv(LIMIT)
    if isinstance(answer, str):
        message: Message = json.loads(answer)
        return message
    size = int.from_bytes(answer[:4], "big")
    head: Message = json.loads(answer[4 : 4 + size])
    return {**head, "events": FrameDecoder().feed(answer[4 + size :])}


def to_the_end(socket: ClientConnection, run_id: str, first: int = 1) -> list[Message]:
    """The run's events, numbered without a gap; those of others are left out."""
    events: list[Message] = []
    while not events or events[-1]["type"] not in ("RUN_FINISHED", "RUN_ERROR"):
        message = receive(socket)
        assert "problem" not in message, message
        if message["runId"] == run_id:
            assert message["first"] == first + len(events)
            events += message["events"]
    return events


def run(socket: ClientConnection, text: str, **fields: Any) -> list[Message]:
    body = run_input(text, **fields)
    send_message(socket, "run", input=body)
    return accepted(to_the_end(socket, body["runId"]))


@pytest.mark.parametrize("format_", [(), ("agui.json",), ("agui.protobuf",), ("other", "agui.protobuf")])
def test_a_run_comes_as_it_does_over_http(gateway: Gateway, format_: tuple[str, ...]) -> None:
    with opened(gateway, "demo", *format_) as socket:
        assert socket.subprotocol == (format_[-1] if format_ else None)
        events = run(socket, "tool")
    over_http = gateway.run("demo", "tool")
    assert text_of(events) == text_of(over_http)
    assert [kind for kind in types_of(events) if kind.startswith("TOOL")] == [
        kind for kind in types_of(over_http) if kind.startswith("TOOL")
    ]


def test_a_question_is_answered_over_the_same_connection(gateway: Gateway) -> None:
    with opened(gateway) as socket:
        interrupt = run(socket, "approve", threadId="asking")[-1]["outcome"]["interrupts"][0]
        resume = [{"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": True}}]
        assert "notes.txt is deleted" in text_of(run(socket, "", threadId="asking", messages=[], resume=resume))


def test_two_runs_go_on_side_by_side(gateway: Gateway) -> None:
    slow, quick = run_input("slow 5"), run_input("hello")
    with opened(gateway) as socket:
        send_message(socket, "run", input=slow)
        send_message(socket, "run", input=quick)
        ended: list[str] = []
        while len(ended) < 2:
            message = receive(socket)
            ended += [message["runId"] for event in message["events"] if event["type"] == "RUN_FINISHED"]
    assert ended == [quick["runId"], slow["runId"]]


def test_a_run_is_cancelled_by_a_message(gateway: Gateway) -> None:
    body = run_input("slow 600")
    with opened(gateway) as socket:
        send_message(socket, "run", input=body)
        receive(socket)
        send_message(socket, "cancel", runId=body["runId"])
        assert to_the_end(socket, body["runId"], 2)[-1]["outcome"] == {"type": "cancelled"}


def test_a_connection_that_ends_stops_its_runs_unless_they_asked_to_go_on(gateway: Gateway) -> None:
    stopped = run_input("slow 600")
    goes_on = run_input("slow 4", forwardedProps={"gateway": {"onDisconnect": "continue"}})
    with opened(gateway) as socket:
        for body in (stopped, goes_on):
            send_message(socket, "run", input=body)
        receive(socket)
    with opened(gateway) as socket:
        send_message(socket, "attach", runId=stopped["runId"])
        assert to_the_end(socket, stopped["runId"])[-1]["outcome"] == {"type": "cancelled"}
        send_message(socket, "attach", runId=goes_on["runId"], after=2)
        rest = to_the_end(socket, goes_on["runId"], 3)
        assert rest[-1]["type"] == "RUN_FINISHED" and "outcome" not in rest[-1]


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("no json", "NOT_JSON"),
        ("[]", "INVALID_INPUT"),
        ('{"type": "dance"}', "INVALID_INPUT"),
        ('{"type": "run", "input": {}}', "INVALID_INPUT"),
        ('{"type": "attach", "runId": "unknown"}', "UNKNOWN_RUN"),
        ('{"type": "attach", "runId": "r", "after": -1}', "INVALID_INPUT"),
        ('{"type": "cancel", "runId": "unknown"}', "UNKNOWN_RUN"),
    ],
)
def test_what_is_refused_is_reported_and_the_connection_stays(gateway: Gateway, message: str, code: str) -> None:
    with opened(gateway) as socket:
        socket.send(message)
        answer = receive(socket)
        assert (answer["type"], answer["problem"]["code"]) == ("problem", code)
        assert answer["problem"]["detail"]
        assert text_of(run(socket, "hello")).startswith("You said")


def test_bytes_are_refused_and_the_connection_stays(gateway: Gateway) -> None:
    with opened(gateway, "demo", "agui.protobuf") as socket:
        socket.send(b"\x00\x01")
        assert "not bytes" in receive(socket)["problem"]["detail"]
        assert text_of(run(socket, "hello")).startswith("You said")


def test_a_run_is_followed_once_over_a_connection(gateway: Gateway) -> None:
    body = run_input("slow 3")
    with opened(gateway) as socket:
        send_message(socket, "run", input=body)
        send_message(socket, "attach", runId=body["runId"])
        while "problem" not in (message := receive(socket)):
            assert message["runId"] == body["runId"]
        assert message["problem"]["code"] == "RUN_FOLLOWED"


def test_a_run_that_the_agent_cannot_do_is_refused_with_who_said_so(gateway: Gateway) -> None:
    image = {"type": "image", "source": {"type": "data", "value": "iVBORw0KGgo=", "mimeType": "image/png"}}
    body = run_input([{"type": "text", "text": "look"}, image], forwardedProps={"gateway": {"strict": True}})
    with opened(gateway, "echo", "agui.protobuf") as socket:
        send_message(socket, "run", input=body)
        answer = receive(socket)
    assert answer["runId"] == body["runId"]
    assert answer["problem"]["source"]


def test_who_speaks_an_older_agui_is_sent_elsewhere(gateway: Gateway) -> None:
    with opened(gateway) as socket:
        send_message(socket, "run", input=run_input("hello", protocolVersion=...))
        assert receive(socket)["problem"]["pointer"] == "/protocolVersion"


def test_an_agent_that_is_not_there_is_a_404_before_anything_is_opened(gateway: Gateway) -> None:
    with pytest.raises(InvalidStatus) as refused, opened(gateway, "unknown"):
        pass
    assert refused.value.response.status_code == 404
    assert json.loads(refused.value.response.body or b"{}")["code"] == "UNKNOWN_AGENT"


def test_a_page_of_another_origin_is_kept_out(gateway: Gateway) -> None:
    with pytest.raises(InvalidStatus) as refused, opened(gateway, "demo", origin="https://elsewhere.example"):
        pass
    assert refused.value.response.status_code == 403


def test_a_page_gives_its_token_as_a_subprotocol(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.txt"
    tokens.write_text("ann:0123456789abcdef0123\nreader[read]:fedcba98765432100123\n")
    tokens.chmod(0o600)
    with Gateway(tmp_path / "gateway", "--token-file", str(tokens)) as gateway:
        with opened(gateway, "demo", "agui.json", "bearer.0123456789abcdef0123") as socket:
            assert socket.subprotocol == "agui.json"
            assert text_of(run(socket, "hello")).startswith("You said")
        for offers, status in (((), 401), (("agui.json", "bearer.wrong"), 401)):
            with pytest.raises(InvalidStatus) as refused, opened(gateway, "demo", *offers):
                pass
            assert refused.value.response.status_code == status
        with pytest.raises(InvalidStatus) as refused, opened(gateway, "demo", "bearer.fedcba98765432100123"):
            pass
        assert refused.value.response.status_code == 403


def test_a_client_that_takes_nothing_slows_no_run(gateway: Gateway) -> None:
    body = run_input("long 200000", forwardedProps={"gateway": {"onDisconnect": "continue", "merge": False}})
    with opened(gateway, "demo", max_queue=1) as socket:
        send_message(socket, "run", input=body)
        until(lambda: _over(gateway, body["runId"]))
        assert text_of(to_the_end(socket, body["runId"])).endswith("200000 ")


def _over(gateway: Gateway, run_id: str) -> bool:
    with gateway.client.stream("GET", f"/runs/{run_id}/events", params={"after": 200_000}) as response:
        return response.status_code == 200 and "RUN_FINISHED" in response.read().decode()


def test_a_gateway_that_stops_ends_the_run_first(tmp_path: Path) -> None:
    with Gateway(tmp_path, env={"AGUI_GATEWAY_SHUTDOWN_GRACE": "0"}) as gateway:
        body = run_input("slow 600")
        with opened(gateway) as socket:
            send_message(socket, "run", input=body)
            receive(socket)
            gateway.signal(15)
            assert to_the_end(socket, body["runId"], 2)[-1]["code"] == "GATEWAY_STOPPING"
            with pytest.raises(ConnectionClosed):
                socket.recv(LIMIT)


def test_the_snapshot_says_that_there_is_a_socket(gateway: Gateway) -> None:
    assert gateway.client.get("/agents/demo/capabilities").json()["transport"]["websocket"] is True


def test_a_text_that_is_not_utf_8_and_the_clients_close_at_once_leave_no_error_in_the_log(gateway: Gateway) -> None:
    before = gateway.log.read_text("utf-8")
    with opened(gateway) as socket:
        mask = bytes(4)
        frames = b"\x81\x82" + mask + b"\xff\xfe" + b"\x88\x82" + mask + (1000).to_bytes(2, "big")
        socket.socket.sendall(frames)  # in one segment
        with pytest.raises(ConnectionClosed):
            socket.recv(LIMIT)
    with opened(gateway) as socket:
        assert text_of(run(socket, "hello")), "the gateway goes on"
    assert gateway.log.read_text("utf-8") == before
