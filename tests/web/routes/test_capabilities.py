"""`GET /agents/{agent}/capabilities`, as a frontend asks it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ag_ui.core import AgentCapabilities

from gateway.capabilities.layers import LAYERS
from gateway.capability_paths import flatten
from tests.support.gateway import Gateway
from tests.web.agent_folder import write_agent
from tests.web.problem import problem_in

DEMO = "/agents/demo/capabilities"


def nulls(value: Any) -> bool:
    match value:
        case dict():
            return any(map(nulls, value.values()))
        case list():
            return any(map(nulls, value))
        case _:
            return value is None


@pytest.mark.parametrize("agent", ["demo", "echo"])
def test_the_answer_is_agui_s_own_object_and_nothing_else(gateway: Gateway, agent: str) -> None:
    response = gateway.client.get(f"/agents/{agent}/capabilities")
    assert (response.status_code, response.headers["content-type"]) == (200, "application/json")
    body = response.json()
    read = AgentCapabilities.model_validate(body, strict=True)
    assert read.model_dump(by_alias=True, mode="json", exclude_unset=True) == body
    assert not read.model_extra
    assert not nulls(body)


def test_the_gateway_states_the_transports_it_really_carries(gateway: Gateway) -> None:
    assert gateway.client.get(DEMO).json()["transport"] == {
        "streaming": True,
        "httpBinary": True,
        "resumable": True,
        "websocket": True,
    }


def test_a_client_from_before_1_0_reads_of_subagents_in_its_own_spelling(gateway: Gateway) -> None:
    now, then = gateway.client.get(DEMO), gateway.client.get(DEMO, params={"protocol": "0"})
    agents = now.json()["multiAgent"]
    assert agents["subagents"] == then.json()["multiAgent"]["subAgents"]
    assert "subagents" not in then.json()["multiAgent"]
    assert then.json() | {"multiAgent": agents} == now.json()
    assert now.headers["etag"] != then.headers["etag"]


def test_no_client_may_keep_the_answer(gateway: Gateway) -> None:
    assert gateway.client.get(DEMO).headers["cache-control"] == "no-store"


@pytest.mark.parametrize("params", [{}, {"protocol": "0"}, {"view": "agui"}, {"explain": "0"}])
@pytest.mark.parametrize("known", ["{}", "W/{}", '"other", {}', '"other",{},"another"', "*"])
def test_a_client_that_has_the_answer_is_answered_not_modified(
    gateway: Gateway, known: str, params: dict[str, str]
) -> None:
    tag = gateway.client.get(DEMO, params=params).headers["etag"]
    response = gateway.client.get(DEMO, params=params, headers={"if-none-match": known.format(tag)})
    assert (response.status_code, response.content, response.headers["etag"]) == (304, b"", tag)


@pytest.mark.parametrize("known", ["", '"other"', "nonsense", '""'])
def test_who_knows_another_answer_is(gateway: Gateway, known: str) -> None:
    response = gateway.client.get(DEMO, headers={"if-none-match": known})
    assert (response.status_code, response.json()["identity"]["name"]) == (200, "Demo")


@pytest.mark.parametrize("query", ["1", "true", "yes"])
def test_every_value_has_a_source(gateway: Gateway, query: str) -> None:
    answer = gateway.client.get(DEMO, params={"explain": query}).json()
    body = flatten(answer["capabilities"])
    assert answer["capabilities"] == gateway.client.get(DEMO).json()
    assert {path: each["value"] for path, each in answer["explain"].items()} == body
    assert {each["layer"] for each in answer["explain"].values()} <= set(LAYERS)
    assert answer["explain"]["transport.streaming"]["layer"] == "gateway"
    assert answer["explain"]["reasoning.supported"]["source"] == "demo.toml"
    assert all(each["since"].endswith("Z") for each in answer["explain"].values())


def test_an_unknown_view_is_refused(gateway: Gateway) -> None:
    problem = problem_in(gateway.client.get(DEMO, params={"view": "panorama"}), 400, "UNKNOWN_VIEW")
    assert "'panorama'" in problem["detail"] and "agui" in problem["detail"]


def test_an_unknown_agent_has_none(gateway: Gateway) -> None:
    problem_in(gateway.client.get("/agents/ghost/capabilities"), 404, "UNKNOWN_AGENT")


# -- agents that speak for themselves

LIVE = """
import json
from pathlib import Path

async def agent(turn):
    yield "yes"

def words():
    return json.loads((Path(__file__).parent / "words.json").read_text())
"""
RAISES = LIVE.replace("return json", "raise RuntimeError('no comment')\n    return json")
HANGS = """
import anyio

async def agent(turn):
    yield "yes"

async def words():
    await anyio.sleep_forever()
"""
ODD: dict[str, str] = {
    "a-number": "3",
    "a-list": "[('tools', True)]",
    "a-wrong-key": "{'tools': {'suported': True}}",
    "a-wrong-value": "{'tools': {'supported': 'yes'}}",
    "a-number-for-a-key": "{'tools': {1: True}}",
    "a-number-for-a-category": "{7: {}}",
    "what-is-not-json": "{'custom': {'x': object()}}",
    "a-ring": "(lambda ring: ring.update(custom=ring) or ring)({})",
}
BELIEVED = "\n[capabilities]\nreasoning.supported = true\ntools.supported = false\n"


@pytest.fixture(scope="module")
def speakers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Gateway, Path]]:
    home = tmp_path_factory.mktemp("speakers")
    folder = home / "agents"
    for id_, code in {"live": LIVE, "raises": RAISES, "hangs": HANGS}.items():
        write_agent(folder, id_, code, more=f'capabilities_entry = "{id_}:words"', tables=BELIEVED)
    for id_, each in ODD.items():
        code = f"async def agent(turn):\n    yield 'yes'\n\nwords = {each}\n"
        write_agent(folder, id_, code, more=f'capabilities_entry = "{id_.replace("-", "_")}:words"', tables=BELIEVED)
    with Gateway(home, "--agents", str(folder)) as running:
        yield running, folder


def test_what_an_agent_says_now_overrules_its_file(speakers: tuple[Gateway, Path]) -> None:
    running, folder = speakers
    tags = set()
    for supported in ("true", "false", "true"):
        (folder / "words.json").write_text(f'{{"tools": {{"supported": {supported}}}}}', "utf-8")
        response = running.client.get("/agents/live/capabilities")
        assert response.json()["tools"]["supported"] is (supported == "true")
        assert response.json()["reasoning"]["supported"] is True
        tags.add(response.headers["etag"])
    assert len(tags) == 2


SAME = """
said = {"custom": {"runs": 0}}

async def agent(turn):
    said["custom"]["runs"] += 1
    yield "yes"

def words():
    return said
"""


def test_an_author_may_change_what_was_announced_before(tmp_path: Path) -> None:
    write_agent(tmp_path / "agents", "same", SAME, more='capabilities_entry = "same:words"')
    with Gateway(tmp_path, "--agents", str(tmp_path / "agents")) as running:
        for runs in range(3):
            assert running.client.get("/agents/same/capabilities").json()["custom"]["runs"] == runs
            running.run("same")


def test_it_is_explained_who_overrode_whom(speakers: tuple[Gateway, Path]) -> None:
    running, folder = speakers
    (folder / "words.json").write_text('{"tools": {"supported": true}}', "utf-8")
    body = running.client.get("/agents/live/capabilities?explain=1").json()["explain"]["tools.supported"]
    assert (body["value"], body["layer"]) == (True, "handshake")
    assert [(each["value"], each["layer"], each["source"]) for each in body["overridden"]] == [
        (False, "profile", "live.toml")
    ]


def test_the_gateway_decides_on_transports(speakers: tuple[Gateway, Path]) -> None:
    running, folder = speakers
    (folder / "words.json").write_text('{"transport": {"pushNotifications": true, "streaming": false}}', "utf-8")
    transport = running.client.get("/agents/live/capabilities").json()["transport"]
    assert transport["streaming"] is True
    assert "pushNotifications" not in transport, "the gateway carries none, so none is claimed"


@pytest.mark.parametrize("agent", ["raises", "hangs", *ODD])
def test_an_agent_that_talks_nonsense_of_itself_is_described_by_its_file(
    speakers: tuple[Gateway, Path], agent: str
) -> None:
    running, _ = speakers
    body = running.client.get(f"/agents/{agent}/capabilities").json()
    assert (body["reasoning"]["supported"], body["tools"]["supported"]) == (True, False)
    assert f"agent {agent}: " in running.log.read_text("utf-8")
    assert "yes" in running.post(agent, {"threadId": "t", "runId": agent, "messages": []}).text


def test_one_that_talks_nonsense_does_not_keep_the_others_from_being_listed(speakers: tuple[Gateway, Path]) -> None:
    running, _ = speakers
    listed = {agent["id"] for agent in running.client.get("/agents").json()["agents"]}
    assert {"demo", "live", *ODD} <= listed
    assert set(running.client.get("/copilotkit/info").json()["agents"]) == listed | {"default"}
