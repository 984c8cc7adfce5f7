"""A run's wishes held against what the agent can do: what is refused, what is dropped with a notice, what passes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from gateway.capabilities.check import check_turn
from gateway.capabilities.layers import LayerStatement
from gateway.capabilities.merge import Snapshot, merge
from gateway.capabilities.options import with_options
from gateway.catalog.capability_table import camel
from gateway.catalog.definition import AgentDefinition
from gateway.catalog.models.registry import ModelRegistry
from gateway.catalog.options import GATEWAY_OPTIONS, PROCESS_OPTIONS
from gateway.catalog.sections import Identity
from gateway.errors import BadInput, NotCapable
from gateway.turn import Notice, Options, Turn

OPTIONS = {field.name for field in fields(Options) if camel(field.name) not in (*GATEWAY_OPTIONS, *PROCESS_OPTIONS)}


def agent(*options: str) -> AgentDefinition:
    return AgentDefinition(
        id="mine",
        driver="python",
        entry="mine:agent",
        identity=Identity(name="Mine"),
        options=options,
        source=Path("folder/mine.toml"),
    )


def wishing(name: str) -> Options:
    medium: dict[str, Any] = {name: "x"}
    return Options(**medium)


def snapshot_with(values: Mapping[str, Any]) -> Snapshot:
    return merge(
        [LayerStatement("handshake", "initialize", {f"multimodal.input.{key}": value for key, value in values.items()})]
    )


def offered_by(definition: AgentDefinition) -> Snapshot:
    return with_options(merge([]), definition, None, ModelRegistry(definition))


def part(kind: str, mime: str | None = None) -> dict[str, Any]:
    source = {"type": "url", "value": "https://example.org/x"}
    return {"type": kind, "source": source if mime is None else source | {"mimeType": mime}}


def turn(*parts: dict[str, Any], strict: bool = False, warnings: tuple[Notice, ...] = ()) -> Turn:
    message = {"id": "m", "role": "user", "content": [{"type": "text", "text": "look"}, *parts]}
    return Turn("t", "r", messages=[message], options=Options(strict=strict), warnings=warnings)


# -- wishes


@pytest.mark.parametrize("name", sorted(OPTIONS - {"additional_directories"}))
def test_an_option_that_the_agent_does_not_list_is_refused_by_name(name: str) -> None:
    sent = Turn("t", "r", options=wishing(name))
    with pytest.raises(NotCapable) as caught:
        check_turn(sent, offered_by(agent()), agent())
    problem = caught.value.problem()
    assert problem["pointer"] == f"/forwardedProps/gateway/{camel(name)}"
    path = f"custom.gateway.options.{camel(name)}"
    assert (problem["agent"], problem["capability"]) == ("mine", path)
    assert offered_by(agent()).get(path) is False
    assert problem["source"] == "profile (mine.toml: options)"
    assert repr(camel(name)) in problem["detail"] and "This one takes: merge, onDisconnect" in problem["detail"]


@pytest.mark.parametrize("name", sorted(OPTIONS))
def test_an_option_that_the_agent_lists_passes(name: str) -> None:
    sent = Turn("t", "r", options=wishing(name))
    assert check_turn(sent, offered_by(agent(camel(name))), agent(camel(name))) is sent


def test_directories_that_the_agent_cannot_take_are_left_out_with_a_notice() -> None:
    sent = Turn("t", "r", options=wishing("additional_directories"))
    checked = check_turn(sent, offered_by(agent()), agent())
    assert checked.options.additional_directories is None
    assert [notice.code for notice in checked.warnings] == ["DIRECTORIES_DROPPED"]
    strict = Turn("t", "r", options=Options(additional_directories=("x",), strict=True))
    with pytest.raises(NotCapable, match="additionalDirectories"):
        check_turn(strict, offered_by(agent()), agent())


def test_the_refusal_lists_the_known_options() -> None:
    definition = agent("model", "effort")
    with pytest.raises(NotCapable, match="takes: effort, merge, model, onDisconnect, stream, strict"):
        check_turn(Turn("t", "r", options=Options(mode="plan")), offered_by(definition), definition)


def test_what_the_gateway_does_itself_may_be_wished_of_every_agent() -> None:
    options = Options(on_disconnect="continue", strict=True, merge=True, merge_window_ms=5.0)
    assert set(GATEWAY_OPTIONS) <= {camel(field.name) for field in fields(options)}
    assert check_turn(Turn("t", "r", options=options), offered_by(agent()), agent()).options is options


# -- media


@pytest.mark.parametrize(
    ("medium", "key"),
    [
        (part("image"), "image"),
        (part("audio", "audio/wav"), "audio"),
        (part("video"), "video"),
        (part("document", "application/pdf"), "pdf"),
        (part("document", "Application/PDF; version=2"), "pdf"),
        (part("document", "text/plain"), "file"),
        (part("document"), "file"),
    ],
)
def test_media_that_the_agent_does_not_take_are_dropped_with_a_notice(medium: dict[str, Any], key: str) -> None:
    sent = turn(part("image") if key != "image" else part("audio"), medium)
    checked = check_turn(sent, snapshot_with({key: False}), agent())
    assert medium not in checked.parts and len(checked.parts) == 2
    [notice] = checked.warnings
    assert (notice.code, notice.pointer) == ("CONTENT_DROPPED", "/messages/0/content/2")
    assert f"multimodal.input.{key} is false, stated by handshake (initialize)" in notice.message
    assert len(sent.parts) == 3  # the turn that came in is as it was


def test_strict_makes_a_refusal_of_it() -> None:
    with pytest.raises(NotCapable) as caught:
        check_turn(turn(part("image"), strict=True), snapshot_with({"image": False}), agent())
    problem = caught.value.problem()
    assert (problem["capability"], problem["pointer"]) == ("multimodal.input.image", "/messages/0/content/1")
    assert problem["source"] == "handshake (initialize)"


@pytest.mark.parametrize("values", [{}, {"image": True}, {"audio": False}], ids=["unknown", "known", "another"])
def test_media_that_it_may_take_pass(values: dict[str, bool]) -> None:
    sent = turn(part("image"), strict=True)
    assert check_turn(sent, snapshot_with(values), agent()) is sent


def test_every_dropped_part_has_its_own_notice_after_those_from_before() -> None:
    before = Notice("FIELD_IGNORED", "/x is not known here", "/x")
    sent = turn(part("image"), part("audio"), part("image"), warnings=(before,))
    checked = check_turn(sent, snapshot_with({"image": False}), agent())
    assert [notice.pointer for notice in checked.warnings] == ["/x", "/messages/0/content/1", "/messages/0/content/3"]
    assert [medium["type"] for medium in checked.parts] == ["text", "audio"]


def test_only_the_newest_message_of_the_user_is_looked_at() -> None:
    older, newest = turn(part("image")).messages[0], {"id": "n", "role": "user", "content": "and now?"}
    answer = {"id": "a", "role": "assistant", "content": "I see"}
    sent = Turn("t", "r", messages=[older, answer, newest], options=Options(strict=True))
    assert check_turn(sent, snapshot_with({"image": False}), agent()) is sent
    again = Turn("t", "r", messages=[older, answer], options=Options(strict=True))
    with pytest.raises(NotCapable):
        check_turn(again, snapshot_with({"image": False}), agent())


def test_a_turn_without_a_message_passes() -> None:
    sent = Turn("t", "r")
    assert check_turn(sent, snapshot_with({"image": False}), agent()) is sent


def test_strict_refuses_what_was_left_out_on_the_way_in() -> None:
    notice = Notice("UNKNOWN_ROLE", "/messages/0/role: no such role", "/messages/0/role")
    assert check_turn(turn(warnings=(notice,)), snapshot_with({}), agent()).warnings == (notice,)
    with pytest.raises(BadInput, match="no such role") as refused:
        check_turn(turn(strict=True, warnings=(notice,)), snapshot_with({}), agent())
    assert refused.value.problem()["pointer"] == "/messages/0/role"
