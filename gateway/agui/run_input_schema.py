"""`RunAgentInput` and everything in it, as data: AG-UI 1.0, and the one part older clients still send.

In: `shape`'s readers. Out: `RUN_AGENT_INPUT`, which `inbound` reads bodies with. The sentence behind a required field
ends its refusal. Nothing here decides what a turn is.

Where this is wider than the protocol: a role, part type or source type that is newer than us is left out with a notice;
a tool call without `type` is a function call, as in the official Python models; the retired `binary` part is upgraded
wherever parts may stand. Where it is narrower: `ID`, and `resume` names an interrupt once.
"""

from __future__ import annotations

from dataclasses import dataclass

from gateway.agui.options import FORWARDED_PROPS
from gateway.agui.schema import (
    LEFT_OUT,
    Anything,
    Choice,
    Field,
    Findings,
    Line,
    ListOf,
    Object,
    Place,
    Tagged,
    Text,
    TextOr,
)
from gateway.events import Json

TEXT = Text()
METADATA = Object()
ID = Line(512, "the gateway's addresses name threads and runs by it")

SOURCE = Tagged(
    "type",
    {
        "data": Object(
            (
                Field("value", TEXT, "a data source carries its bytes in base64"),
                Field("mimeType", TEXT, "nothing else says what the bytes of a data source are"),
            )
        ),
        "url": Object((Field("value", TEXT, "a url source names its address"), Field("mimeType", TEXT))),
        "file": Object(
            (
                Field("value", TEXT, "a file source names the provider's handle"),
                Field("provider", TEXT),
                Field("mimeType", TEXT),
            )
        ),
    },
    code="UNKNOWN_SOURCE",
    loses="content part",
)

ANY_PART = (Field("id", TEXT), Field("metadata", Anything()))
MEDIA = Object((*ANY_PART, Field("source", SOURCE, "a media part says where its bytes come from")))

RETIRED_BINARY = Object(
    (
        Field("mimeType", TEXT, "a binary part says what its bytes are"),
        Field("data", TEXT),
        Field("url", TEXT),
        Field("id", TEXT),
        Field("filename", TEXT),
        Field("metadata", METADATA),
    )
)
# The id goes too: it was a handle for the bytes, while a media part's id names the part.
RETIRED_KEYS = {"mimeType", "data", "url", "id", "filename"}


@dataclass(frozen=True, slots=True)
class BinaryPart:
    """What clients before 1.0 send for a file; reads as the media part of today, by the official upgrade."""

    def read(self, value: Json, at: Place, found: Findings) -> Json:
        before = found.count
        part = RETIRED_BINARY.read(value, at, found)
        return value if found.count > before else _upgraded(part, at, found)


def _upgraded(part: dict[str, Json], at: Place, found: Findings) -> Json:
    mime, data, url = part["mimeType"], part.get("data"), part.get("url")
    if not (data or url):
        if part.get("id"):
            found.notice(at, "BINARY_BY_ID", "is left out: a binary part with nothing but an id cannot be fetched")
        else:
            found.refuse(at, "holds nothing: a binary part has data, a url or an id")
        return LEFT_OUT
    source = {"type": "data", "value": data} if data else {"type": "url", "value": url}
    upgraded = {key: value for key, value in part.items() if key not in RETIRED_KEYS}
    upgraded |= {"type": _media_kind(mime), "source": {**source, "mimeType": mime}}
    if filename := part.get("filename"):
        upgraded["metadata"] = {**part.get("metadata", {}), "filename": filename}
    return upgraded


def _media_kind(mime: str) -> str:
    prefix = mime.lower().partition("/")[0]
    return prefix if prefix in ("image", "audio", "video") else "document"


PARTS = ListOf(
    Tagged(
        "type",
        {
            "text": Object((*ANY_PART, Field("text", TEXT, "a text part has its text there"))),
            "image": MEDIA,
            "audio": MEDIA,
            "video": MEDIA,
            "document": MEDIA,
            "binary": BinaryPart(),
        },
        code="UNKNOWN_PART",
        loses="content part",
    )
)
TEXT_OR_PARTS = TextOr(PARTS, "content parts")

TOOL_CALL = Object(
    (
        Field("id", TEXT, "a tool message answers the call by it"),
        Field("type", Choice(("function",)), default="function"),
        Field(
            "function",
            Object(
                (
                    Field("name", TEXT, "a call names its tool"),
                    Field("arguments", TEXT, "a call carries its arguments as JSON text, {} for none"),
                )
            ),
            "a call says what is called",
        ),
        Field("encryptedValue", TEXT),
        Field("metadata", METADATA),
    )
)

ANY_MESSAGE = (
    Field("id", TEXT, "every message has an id"),
    Field("subagentRunId", TEXT),
    Field("metadata", METADATA),
)
ENCRYPTED = Field("encryptedValue", TEXT)
NAMED = (*ANY_MESSAGE, Field("name", TEXT), ENCRYPTED)
INSTRUCTION = Object((*NAMED, Field("content", TEXT, "an instruction has its text there")))

MESSAGE = Tagged(
    "role",
    {
        "developer": INSTRUCTION,
        "system": INSTRUCTION,
        "user": Object((*NAMED, Field("content", TEXT_OR_PARTS, 'a user message says something, if only ""'))),
        "assistant": Object((*NAMED, Field("content", TEXT), Field("toolCalls", ListOf(TOOL_CALL)))),
        "tool": Object(
            (
                *ANY_MESSAGE,
                ENCRYPTED,
                Field("toolCallId", TEXT, "a tool message names the call it answers"),
                Field("content", TEXT_OR_PARTS, 'a tool message says what the tool gave back, if only ""'),
                Field("error", TEXT),
            )
        ),
        "activity": Object(
            (
                *ANY_MESSAGE,
                Field("activityType", TEXT, "an activity says of which type it is"),
                Field("content", Object(), "an activity has its content there, if only {}"),
            )
        ),
        "reasoning": Object((*ANY_MESSAGE, ENCRYPTED, Field("content", TEXT, "reasoning has its text there"))),
    },
    code="UNKNOWN_ROLE",
    loses="message",
)

TOOL = Object(
    (
        Field("name", TEXT, "the agent calls a tool by its name"),
        Field("description", TEXT, 'the agent chooses a tool by its description, which may be ""'),
        Field("parameters", Anything()),
        Field("metadata", METADATA),
    )
)

CONTEXT = Object(
    (
        Field("description", TEXT, "a piece of context says what it is"),
        Field("value", TEXT, "a piece of context has its text there"),
    )
)

RESUME_ENTRY = Object(
    (
        Field("interruptId", TEXT, "an answer names the interrupt it answers"),
        Field("status", Choice(("resolved", "cancelled")), "an answer says if the interrupt was answered or abandoned"),
        Field("payload", Anything()),
        Field("metadata", METADATA),
    )
)

RUN_AGENT_INPUT = Object(
    (
        Field("threadId", ID, "a run belongs to a thread"),
        Field("runId", ID, "a run has an id, made by the client"),
        Field("protocolVersion", TEXT),
        Field("parentRunId", TEXT),
        Field("state", Anything()),
        Field("messages", ListOf(MESSAGE), "a run has the conversation so far, if only []"),
        Field("tools", ListOf(TOOL)),
        Field("context", ListOf(CONTEXT)),
        Field("forwardedProps", FORWARDED_PROPS),
        Field("resume", ListOf(RESUME_ENTRY, unique="interruptId")),
    )
)
