"""The clients, and what each of them is made to talk about with the demo agent.

Most talks are the same for every client. They differ where the clients do: `HttpAgent` stops a run by closing the
connection and leaves a page's own tools to the application; CopilotKit has a stop of its own and calls the tools.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.clients.expectations import MEANINGS, THEIR_STATE
from tests.clients.node import Wire


@dataclass(frozen=True, slots=True)
class Client:
    name: str
    script: str
    protobuf: bool = False
    older: bool = False
    """From before AG-UI 1.0."""

    @property
    def is_copilotkit(self) -> bool:
        return self.script == "copilotkit.mjs"


SSE = Client("1.0 over SSE", "agui.mjs")
PROTOBUF = Client("1.0 over protobuf", "agui.mjs", protobuf=True)
OLDER = Client("0.0.59 over SSE", "agui0.mjs", older=True)
COPILOTKIT = Client("CopilotKit", "copilotkit.mjs", older=True)
CLIENTS = (SSE, PROTOBUF, OLDER, COPILOTKIT)

FAILING = ("error", "crash")

BACKGROUND_TOOL = {
    "name": "change_background",
    "description": "Changes the colour of the page.",
    "parameters": {"type": "object", "properties": {"color": {"type": "string"}}, "required": ["color"]},
}
ATTACHED = [
    {"type": "text", "text": "What do you make of these?"},
    {"type": "image", "source": {"type": "data", "value": "aGVsbG8=", "mimeType": "image/png"}},
    {"type": "audio", "source": {"type": "url", "value": "https://example.org/bird.mp3", "mimeType": "audio/mpeg"}},
    {"type": "document", "source": {"type": "data", "value": "JVBERg==", "mimeType": "application/pdf"}},
]


def yes(**payload: Any) -> Wire:
    return {"status": "resolved", "payload": payload}


CANCEL: Wire = {"status": "cancelled"}

TALKS: dict[str, list[Wire]] = {
    "approved": [{"say": "approve"}, {"answers": [yes(approved=True)]}, {"say": "tool"}],
    "edited": [{"say": "approve"}, {"answers": [yes(approved=True, editedArgs={"path": "old.txt"})]}],
    "refused": [{"say": "approve"}, {"answers": [yes(approved=False)]}],
    "cancelled": [{"say": "approve"}, {"answers": [CANCEL]}],
    "two answers": [{"say": "two approvals"}, {"answers": [yes(approved=True), CANCEL]}],
    "filled in": [{"say": "form"}, {"answers": [yes(name="Ada", email="ada@example.org", seats=2)]}],
    "left empty": [{"say": "form"}, {"answers": [CANCEL]}],
    "wrong answer": [{"say": "form"}, {"answers": [yes(name="Ada", seats=0)]}, {"answers": [yes(name="Ada", seats=1)]}],
    "attached": [{"say": ATTACHED}],
    "two runs": [{"say": "good morning"}, {"say": "tool"}],
    **{word: [{"say": word}, {"say": "tool"}] for word in FAILING},
}
HTTP_TALKS: dict[str, list[Wire]] = {
    "stopped": [{"say": "slow 600", "abortAfter": 2}],
    "page's tool": [{"say": "frontend"}, {"results": ["the page is teal now"]}],
    "replayed": [{"say": "everything"}, {"replay": "sse"}, {"replay": "protobuf"}],
}
COPILOTKIT_TALKS: dict[str, list[Wire]] = {
    "stopped": [{"say": "slow 600", "stopAfter": 2}, {"say": "tool"}],
    "page's tool": [{"say": "frontend"}],
    "answer noted": [{"say": "approve"}, {"answers": [yes(approved=True)], "noted": True}, {"say": "tool"}],
    "asked before the reload": [{"say": "approve"}, {"reload": True}, {"answers": [yes(approved=True)]}],
    "failed before the reload": [{"say": "error"}, {"reload": True}, {"say": "tool"}],
    "joined": [{"say": "slow 600", "joinAfter": 2, "stopFromSecond": 4}],
    "unheard of": [{"reload": True}],
}


def talks_for(client: Client) -> dict[str, Wire]:
    """Name → job. A talk that is named like a word says just that; CopilotKit then reloads the page."""
    after = [{"reload": True}] if client.is_copilotkit else []
    steps = {word: [{"say": word}, *after] for word in MEANINGS} | TALKS
    steps |= COPILOTKIT_TALKS if client.is_copilotkit else HTTP_TALKS
    common = {"agent": "demo", "protobuf": client.protobuf}
    talks: dict[str, Wire] = {name: {**common, "steps": given} for name, given in steps.items()}
    talks["state"]["state"] = THEIR_STATE
    talks["page's tool"] |= {"tools": [BACKGROUND_TOOL], "backgroundTool": True}
    if client.is_copilotkit:
        talks["default"] = {"agent": "default", "steps": [{"say": "good morning"}]}
    else:
        talks["nobody there"] = {**common, "agent": "nobody", "steps": [{"say": "good morning"}]}
    if client is OLDER:
        talks["asks for protobuf"] = {"agent": "demo", "protobuf": True, "steps": [{"say": "everything"}]}
    return talks
