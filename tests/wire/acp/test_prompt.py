"""A run's input becomes a prompt: only what is new, by what the agent takes, and nothing lost in silence."""

from __future__ import annotations

from typing import Any

from gateway.turn import Turn
from gateway.wire.acp.prompt import RETOLD_MAX_CHARS, new_messages, prompt_blocks
from gateway.wire.prompt_content import PromptContent

ALL = PromptContent(image=True, audio=True, embedded_context=True)
NONE = PromptContent(agent_name="Otter")
IMAGE = {"type": "image", "source": {"type": "data", "value": "AA==", "mimeType": "image/png"}}


def user(key: str, content: Any) -> dict[str, Any]:
    return {"id": key, "role": "user", "content": content}


def make_turn(*messages: dict[str, Any], **more: Any) -> Turn:
    return Turn("t", "r", messages=list(messages), **more)


CALL = {
    "id": "a1",
    "role": "assistant",
    "content": "Let me look.",
    "toolCalls": [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at":"it"}'}}],
}
RESULT = {"id": "r1", "role": "tool", "toolCallId": "c1", "content": "blue"}


def blocks(
    turn: Turn, accepted: PromptContent = ALL, *, known: tuple[str, ...] = (), retell: bool = False
) -> list[Any]:
    return prompt_blocks(turn, accepted, new_messages=new_messages(turn, known), retell=retell)[0]


def test_a_text_is_a_text() -> None:
    assert blocks(make_turn(user("1", "hi"))) == [{"type": "text", "text": "hi"}]


def test_only_what_the_session_has_not_seen_is_sent() -> None:
    turn = make_turn(user("1", "hi"), {"id": "2", "role": "assistant", "content": "ho"}, user("3", "again"))
    assert blocks(turn, known=("1",)) == [{"type": "text", "text": "again"}]


def test_the_agents_own_messages_and_results_are_not_sent_back() -> None:
    thought = {"id": "4", "role": "reasoning", "content": "hm"}
    turn = make_turn(user("1", "hi"), thought, CALL, RESULT, user("3", "again"))
    assert [message["id"] for message in new_messages(turn, {"1", "c1"})] == ["3"]


def test_parts_become_blocks() -> None:
    content = [{"type": "text", "text": "see"}, IMAGE]
    assert blocks(make_turn(user("1", content))) == [
        {"type": "text", "text": "see"},
        {"type": "image", "data": "AA==", "mimeType": "image/png"},
    ]


def test_what_the_agent_does_not_take_is_left_out_with_a_warning_that_points_to_it() -> None:
    turn = make_turn(user("1", "hi"), user("2", [{"type": "text", "text": "see"}, IMAGE]))
    sent, warned = prompt_blocks(turn, NONE, new_messages=new_messages(turn, {"1"}), retell=False)
    assert sent == [{"type": "text", "text": "see"}]
    assert [(one.code, one.detail) for one in warned] == [("CONTENT_DROPPED", {"pointer": "/messages/1/content/1"})]
    assert warned[0].message == (
        "/messages/1/content/1: the image was left out: Otter does not offer promptCapabilities.image"
    )


def test_a_warning_explains_that_acp_cannot_carry_it() -> None:
    file = {"type": "image", "source": {"type": "file", "value": "f"}}
    video = {"type": "video", "source": {"type": "data", "value": "AA==", "mimeType": "video/mp4"}}
    turn = make_turn(user("1", [file, video]))
    warned = prompt_blocks(turn, ALL, new_messages=turn.messages, retell=False)[1]
    assert [one.message.split(": ", 2)[2] for one in warned] == [
        "ACP cannot carry a provider's handle to a file",
        "ACP cannot carry a part of this kind (video)",
    ]


def test_a_client_tools_result_is_sent_with_the_tools_name() -> None:
    turn = make_turn(user("1", "hi"), CALL, RESULT)
    assert blocks(turn, known=("1",)) == [
        {"type": "text", "text": "Result of the tool look (call c1):"},
        {"type": "text", "text": "blue"},
    ]


def test_a_failed_result_is_introduced_as_failed() -> None:
    turn = make_turn({**RESULT, "toolCallId": "c9", "error": "no light", "content": ""})
    assert blocks(turn) == [{"type": "text", "text": "Result of the tool call c9: It failed: no light"}]


def test_instructions_are_introduced() -> None:
    turn = make_turn({"id": "0", "role": "system", "content": "Be brief."}, user("1", "hi"))
    assert [block["text"] for block in blocks(turn)] == ["Instructions of the application:", "Be brief.", "hi"]


def test_context_and_state_are_embedded() -> None:
    turn = make_turn(user("1", "hi"), context=[{"description": "Time", "value": "noon"}], state={"page": 2})
    assert blocks(turn)[1:] == [
        {
            "type": "resource",
            "resource": {"uri": "agui://context/0", "mimeType": "text/plain", "text": "Time\n\nnoon"},
        },
        {
            "type": "resource",
            "resource": {"uri": "agui://state", "mimeType": "application/json", "text": '{"page":2}'},
        },
    ]


def test_context_and_state_are_a_text_at_the_end_where_nothing_can_be_embedded() -> None:
    turn = make_turn(user("1", "hi"), context=[{"description": "Time", "value": "noon"}], state={"page": 2})
    sent = blocks(turn, NONE)
    assert len(sent) == 2
    assert sent[1]["text"] == (
        "Context of the application:\n\n"
        'agui://context/0\n```\nTime\n\nnoon\n```\n\nagui://state\n```\n{"page":2}\n```\n'
    )


def test_an_empty_state_is_not_sent() -> None:
    assert blocks(make_turn(user("1", "hi"), state={})) == [{"type": "text", "text": "hi"}]


def test_a_lost_conversation_is_retold_first() -> None:
    turn = make_turn(user("1", "hi"), CALL, RESULT, user("3", [{"type": "text", "text": "and now?"}, IMAGE]))
    sent = blocks(turn, retell=True)
    assert sent[0]["text"] == (
        "The conversation so far:\n\nuser: hi\n\n"
        'assistant: Let me look.\n(called look {"at":"it"})\n\ntool: blue\n\nIt goes on:'
    )
    assert [block["type"] for block in sent[1:]] == ["text", "image"]


def test_a_first_message_needs_no_story() -> None:
    assert blocks(make_turn(user("1", "hi")), retell=True) == [{"type": "text", "text": "hi"}]


def test_a_long_story_keeps_its_end() -> None:
    turn = make_turn(user("1", "x" * (2 * RETOLD_MAX_CHARS)), user("2", "the end"), user("3", "now"))
    story = blocks(turn, retell=True)[0]["text"]
    assert len(story) < RETOLD_MAX_CHARS + 200
    assert "is left out]" in story
    assert "user: the end" in story
