"""Content blocks and content parts, both ways."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest

from gateway.wire.acp.content import inline_text, to_block, to_part
from gateway.wire.prompt_content import PromptContent

ALL = PromptContent(image=True, audio=True, embedded_context=True, binary=True)
TEXTS = PromptContent(image=True, audio=True, embedded_context=True)
NONE = PromptContent()
LINK = {"type": "resource_link", "uri": "file:///a/note.md", "name": "note.md", "mimeType": "text/markdown"}
PDF = {"type": "document", "source": {"type": "data", "value": "JVBERg==", "mimeType": "application/pdf"}}
NOTE = {
    "type": "document",
    "source": {"type": "data", "value": b64encode(b"# hi").decode(), "mimeType": "text/markdown"},
    "metadata": {"filename": "note.md"},
}


def data(kind: str, mime: str) -> dict[str, Any]:
    return {"type": kind, "source": {"type": "data", "value": "AA==", "mimeType": mime}}


@pytest.mark.parametrize(
    ("block", "content"),
    [
        ({"type": "text", "text": "hi"}, "hi"),
        (LINK, "[note.md](file:///a/note.md)"),
        (LINK | {"title": "A note"}, "[A note](file:///a/note.md)"),
        ({"type": "resource_link", "uri": "x:y"}, "[x:y](x:y)"),
        ({"type": "resource", "resource": {"uri": "x:y", "text": "one"}}, "x:y\n```\none\n```\n"),
        ({"type": "resource", "resource": {"uri": "x:y", "text": "a ```` b"}}, "x:y\n`````\na ```` b\n`````\n"),
        ({"type": "resource", "resource": {"uri": "x:y", "blob": "AA=="}}, None),
        ({"type": "image", "data": "AA==", "mimeType": "image/png"}, None),
        ({"type": "hologram"}, None),
        ("text", None),
    ],
)
def test_a_block_inside_a_text(block: Any, content: str | None) -> None:
    assert inline_text(block) == content


@pytest.mark.parametrize(
    ("block", "part"),
    [
        ({"type": "text", "text": "hi"}, {"type": "text", "text": "hi"}),
        ({"type": "image", "data": "AA==", "mimeType": "image/png"}, data("image", "image/png")),
        ({"type": "audio", "data": "AA==", "mimeType": "audio/wav"}, data("audio", "audio/wav")),
        (
            {"type": "image", "uri": "https://e.x/a.png"},
            {"type": "image", "source": {"type": "url", "value": "https://e.x/a.png"}},
        ),
        (
            LINK,
            {
                "type": "document",
                "source": {"type": "url", "value": "file:///a/note.md", "mimeType": "text/markdown"},
                "metadata": {"filename": "note.md"},
            },
        ),
        (
            {"type": "resource", "resource": {"uri": "x:y", "blob": "AA=="}},
            {
                "type": "document",
                "source": {"type": "data", "value": "AA==", "mimeType": "application/octet-stream"},
                "metadata": {"filename": "x:y"},
            },
        ),
        ({"type": "resource", "resource": {"text": "one"}}, {"type": "text", "text": "```\none\n```\n"}),
        ({"type": "hologram"}, None),
    ],
)
def test_a_block_as_a_part(block: Any, part: Any) -> None:
    assert to_part(block) == part


def test_media_become_blocks_where_the_agent_takes_them() -> None:
    assert to_block(data("image", "image/png"), ALL, "u") == {"type": "image", "data": "AA==", "mimeType": "image/png"}
    assert to_block(data("audio", "audio/wav"), ALL, "u") == {"type": "audio", "data": "AA==", "mimeType": "audio/wav"}
    assert to_block(data("image", "image/png"), NONE, "u") is None
    assert to_block(data("audio", "audio/wav"), NONE, "u") is None


def test_what_lies_behind_a_url_is_a_link_for_every_agent() -> None:
    part = {"type": "image", "source": {"type": "url", "value": "https://e.x/dir/a.png", "mimeType": "image/png"}}
    assert to_block(part, NONE, "u") == {
        "type": "resource_link",
        "uri": "https://e.x/dir/a.png",
        "name": "a.png",
        "mimeType": "image/png",
    }


def test_a_data_url_is_data() -> None:
    part = {"type": "image", "source": {"type": "url", "value": "data:image/gif;base64,AAAA"}}
    assert to_block(part, ALL, "u") == {"type": "image", "data": "AAAA", "mimeType": "image/gif"}
    plain = {"type": "document", "source": {"type": "url", "value": "data:,one%20two"}}
    assert to_block(plain, ALL, "u") == {
        "type": "resource",
        "resource": {"uri": "u", "mimeType": "text/plain", "text": "one two"},
    }


def test_a_document_is_embedded_by_its_kind() -> None:
    assert to_block(NOTE, ALL, "u") == {
        "type": "resource",
        "resource": {"uri": "u/note.md", "mimeType": "text/markdown", "text": "# hi"},
    }
    assert to_block(PDF, ALL, "u") == {
        "type": "resource",
        "resource": {"uri": "u", "mimeType": "application/pdf", "blob": "JVBERg=="},
    }


def test_a_document_of_bytes_is_embedded_only_where_bytes_reach_the_model() -> None:
    assert to_block(PDF, TEXTS, "u") is None
    block = to_block(NOTE, TEXTS, "u")
    assert block is not None
    assert block["resource"]["text"] == "# hi"


def test_a_document_of_text_is_sent_as_text_where_nothing_can_be_embedded() -> None:
    assert to_block(NOTE, NONE, "u") == {"type": "text", "text": "note.md\n```\n# hi\n```\n"}
    assert to_block(PDF, NONE, "u") is None


def test_text_that_is_no_utf8_is_bytes() -> None:
    part = {"type": "document", "source": {"type": "data", "value": "/w==", "mimeType": "text/plain"}}
    block = to_block(part, ALL, "u")
    assert block is not None
    assert block["resource"]["blob"] == "/w=="


def test_what_acp_has_no_block_for_is_none() -> None:
    assert to_block(data("video", "video/mp4"), ALL, "u") is None
    assert to_block({"type": "image", "source": {"type": "file", "value": "file-1"}}, ALL, "u") is None
    assert to_block({"type": "image"}, ALL, "u") is None
