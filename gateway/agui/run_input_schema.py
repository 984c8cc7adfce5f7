"""`RunAgentInput` and everything in it, described with the combinators of `schema`: AG-UI 1.0, and the retired `binary`
part that older clients still send (https://docs.ag-ui.com/sdk/js/core/types).

Out: `RUN_AGENT_INPUT`, by which `inbound` reads request bodies. Wider than the protocol: a role, part type or source
type that this version does not know is left out with a notice; a tool call without `type` is a function call, as in the
official Python models; a `binary` part is upgraded wherever content parts are allowed. Narrower: ids (`ID`), and
`resume` must name an interrupt once only.
"""

from __future__ import annotations

from dataclasses import dataclass

from gateway.agui.options import FORWARDED_PROPS
from gateway.agui.schema import (
    SKIPPED,
    Anything,
    Field,
    Findings,
    ListOf,
    Name,
    Object,
    OneOf,
    Path,
    TaggedUnion,
    Text,
    TextOrList,
)
from gateway.events import Json

TEXT = Text()
METADATA = Object()
ID = Name(512, "the gateway's URLs name threads and runs by it")

SOURCE = TaggedUnion(
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
    skipped_noun="content part",
)

PART_FIELDS = (Field("id", TEXT), Field("metadata", Anything()))
MEDIA_PART = Object((*PART_FIELDS, Field("source", SOURCE, "a media part says where its bytes come from")))

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
# The id is not copied: it was a handle for the bytes, while a media part's id names the part.
RETIRED_KEYS = {"mimeType", "data", "url", "id", "filename"}


@dataclass(frozen=True, slots=True)
class BinaryPart:
    """A file as clients before 1.0 send it. It reads as a media part of AG-UI 1.0, by the official upgrade."""

    def read(self, value: Json, path: Path, findings: Findings) -> Json:
        count_before = findings.problem_count
        part = RETIRED_BINARY.read(value, path, findings)
        return value if findings.problem_count > count_before else _upgrade_binary(part, path, findings)


def _upgrade_binary(part: dict[str, Json], path: Path, findings: Findings) -> Json:
    mime_type, data, url = part["mimeType"], part.get("data"), part.get("url")
    if not (data or url):
        if part.get("id"):
            findings.notice(path, "BINARY_BY_ID", "is left out: a binary part with nothing but an id cannot be fetched")
        else:
            findings.refuse(path, "holds nothing: a binary part has data, a url or an id")
        return SKIPPED
    source = {"type": "data", "value": data} if data else {"type": "url", "value": url}
    result = {key: value for key, value in part.items() if key not in RETIRED_KEYS}
    result |= {"type": _media_type(mime_type), "source": {**source, "mimeType": mime_type}}
    if filename := part.get("filename"):
        result["metadata"] = {**part.get("metadata", {}), "filename": filename}
    return result


def _media_type(mime_type: str) -> str:
    prefix = mime_type.lower().partition("/")[0]
    return prefix if prefix in ("image", "audio", "video") else "document"


PARTS = ListOf(
    TaggedUnion(
        "type",
        {
            "text": Object((*PART_FIELDS, Field("text", TEXT, "a text part has its text there"))),
            "image": MEDIA_PART,
            "audio": MEDIA_PART,
            "video": MEDIA_PART,
            "document": MEDIA_PART,
            "binary": BinaryPart(),
        },
        code="UNKNOWN_PART",
        skipped_noun="content part",
    )
)
TEXT_OR_PARTS = TextOrList(PARTS, "content parts")

TOOL_CALL = Object(
    (
        Field("id", TEXT, "a tool message answers the call by it"),
        Field("type", OneOf(("function",)), default="function"),
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

MESSAGE_FIELDS = (
    Field("id", TEXT, "every message has an id"),
    Field("subagentRunId", TEXT),
    Field("metadata", METADATA),
)
ENCRYPTED_FIELD = Field("encryptedValue", TEXT)
NAMED_MESSAGE_FIELDS = (*MESSAGE_FIELDS, Field("name", TEXT), ENCRYPTED_FIELD)
INSTRUCTION = Object((*NAMED_MESSAGE_FIELDS, Field("content", TEXT, "an instruction has its text there")))

MESSAGE = TaggedUnion(
    "role",
    {
        "developer": INSTRUCTION,
        "system": INSTRUCTION,
        "user": Object(
            (*NAMED_MESSAGE_FIELDS, Field("content", TEXT_OR_PARTS, 'a user message says something, if only ""'))
        ),
        "assistant": Object((*NAMED_MESSAGE_FIELDS, Field("content", TEXT), Field("toolCalls", ListOf(TOOL_CALL)))),
        "tool": Object(
            (
                *MESSAGE_FIELDS,
                ENCRYPTED_FIELD,
                Field("toolCallId", TEXT, "a tool message names the call it answers"),
                Field("content", TEXT_OR_PARTS, 'a tool message says what the tool gave back, if only ""'),
                Field("error", TEXT),
            )
        ),
        "activity": Object(
            (
                *MESSAGE_FIELDS,
                Field("activityType", TEXT, "an activity has a type"),
                Field("content", Object(), "an activity has its content there, if only {}"),
            )
        ),
        "reasoning": Object((*MESSAGE_FIELDS, ENCRYPTED_FIELD, Field("content", TEXT, "reasoning has its text there"))),
    },
    code="UNKNOWN_ROLE",
    skipped_noun="message",
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
        Field("status", OneOf(("resolved", "cancelled")), "an answer says if the interrupt was answered or abandoned"),
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
        Field("resume", ListOf(RESUME_ENTRY, unique_key="interruptId")),
    )
)
