"""The scripted model server as its users meet it: a process on loopback."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from tests.fakes.model_server.readers import read_gemini_chunks
from tests.fakes.model_server.server import ModelServer
from tests.fakes.model_server.tool_questions import FORMATS, Format

every = pytest.mark.parametrize("format", FORMATS.values(), ids=list(FORMATS))


@pytest.fixture(scope="module")
def models() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


@pytest.fixture
def client(models: ModelServer) -> Iterator[httpx.Client]:
    models.forget()
    with httpx.Client(base_url=models.url, timeout=30) as talking:
        yield talking


@every
def test_a_stream_comes_as_server_sent_events(format: Format, client: httpx.Client) -> None:
    response = client.post(format.paths[0], json=format.ask("THINK about it") | {"stream": True})
    assert response.headers["content-type"].startswith("text/event-stream")
    assert format.read([response.content]).text == "You said: THINK about it"


@every
def test_without_a_stream_the_answer_comes_whole(format: Format, client: httpx.Client) -> None:
    response = client.post(format.paths[1], json=format.ask("hello"))
    assert response.headers["content-type"] == "application/json"
    assert "You said: hello" in response.text


@every
@pytest.mark.parametrize("status", [400, 500, 529])
def test_a_failure_is_an_http_status(format: Format, client: httpx.Client, status: int) -> None:
    response = client.post(format.paths[0], json=format.ask(f"ERROR {status}") | {"stream": True})
    assert response.status_code == status
    assert response.json() == format.wire.failure(status)


def test_slow_words_arrive_while_the_answer_is_still_going_on(client: httpx.Client) -> None:
    body = FORMATS["chat"].ask("SLOW 500") | {"stream": True}
    with client.stream("POST", "/v1/chat/completions", json=body) as response:
        first = next(line for line in response.iter_lines() if '"w0 "' in line)
    assert first.startswith("data: ")


def test_gemini_without_sse_streams_one_list(client: httpx.Client) -> None:
    body = FORMATS["gemini"].ask("hello")
    response = client.post("/v1beta/models/m:streamGenerateContent", json=body)
    assert read_gemini_chunks(response.json()).text == "You said: hello"


def test_tokens_are_counted(client: httpx.Client) -> None:
    anthropic, gemini = FORMATS["anthropic"].ask("hello"), FORMATS["gemini"].ask("hello")
    assert client.post("/v1/messages/count_tokens", json=anthropic).json()["input_tokens"] > 10
    assert client.post("/v1beta/models/m:countTokens", json=gemini).json()["totalTokens"] > 10


def test_models_are_listed_for_every_provider(client: httpx.Client) -> None:
    for path in ("/v1/models", "/models", "/v1beta/models"):
        told = client.get(path).json()
        assert told["object"] == "list" and told["has_more"] is False
        assert told["data"] == told["models"] and told["data"][0]["id"] == "scripted-model"
    assert client.get("/v1/models/some/model").json()["id"] == "some/model"


def test_every_request_is_remembered_until_it_is_forgotten(models: ModelServer, client: httpx.Client) -> None:
    client.post("/v1/chat/completions", json=FORMATS["chat"].ask("hello"), headers={"authorization": "Bearer x"})
    assert client.get("/api/tags").status_code == 404
    client.post("/telemetry", content=b"not JSON")
    first, second, third = models.requests()
    assert (first["number"], first["method"], first["path"]) == (0, "POST", "/v1/chat/completions")
    assert first["headers"]["authorization"] == "Bearer x"
    assert first["body"]["messages"][0]["role"] == "user"
    assert (second["path"], third["body"]) == ("/api/tags", "not JSON")
    models.forget()
    assert models.requests() == []
