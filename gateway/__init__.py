"""agui-gateway: any coding agent behind AG-UI.

What other programs may import from here:

- to embed the gateway: `create_app(Settings(...))`, an ASGI application; `GatewayError`, which its errors derive from;
- to write an agent in Python: `Turn`, `Options` and `Answer`, which the agent's function receives, and the event
  classes, which it yields (`TextMessageContent`, `ToolCallStart`, `InterruptRequested`, …).

Every other module is internal and may change with any release.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gateway.errors import GatewayError
    from gateway.events import (
        ActivityDelta,
        ActivitySnapshot,
        AguiEvent,
        ClientToolCall,
        ClientToolsCalled,
        Custom,
        Event,
        Interrupt,
        InterruptRequested,
        MessagesSnapshot,
        Raw,
        ReasoningEncryptedValue,
        ReasoningMessageContent,
        ReasoningMessageEnd,
        StateDelta,
        StateSnapshot,
        StepFinished,
        StepStarted,
        SubagentError,
        SubagentFinished,
        SubagentStarted,
        TextMessageContent,
        TextMessageEnd,
        TokenUsage,
        ToolCallArgs,
        ToolCallEnd,
        ToolCallResult,
        ToolCallStart,
        TurnEnded,
        TurnFailed,
        UserMessageAccepted,
        Warning,
    )
    from gateway.settings import Settings
    from gateway.turn import Answer, Options, Turn
    from gateway.web.app import create_app

    __version__: str

__all__ = [
    "ActivityDelta",
    "ActivitySnapshot",
    "AguiEvent",
    "Answer",
    "ClientToolCall",
    "ClientToolsCalled",
    "Custom",
    "Event",
    "GatewayError",
    "Interrupt",
    "InterruptRequested",
    "MessagesSnapshot",
    "Options",
    "Raw",
    "ReasoningEncryptedValue",
    "ReasoningMessageContent",
    "ReasoningMessageEnd",
    "Settings",
    "StateDelta",
    "StateSnapshot",
    "StepFinished",
    "StepStarted",
    "SubagentError",
    "SubagentFinished",
    "SubagentStarted",
    "TextMessageContent",
    "TextMessageEnd",
    "TokenUsage",
    "ToolCallArgs",
    "ToolCallEnd",
    "ToolCallResult",
    "ToolCallStart",
    "Turn",
    "TurnEnded",
    "TurnFailed",
    "UserMessageAccepted",
    "Warning",
    "__version__",
    "create_app",
]

# A name is imported when it is first used: the short commands of the terminal need no web server, and importing one
# takes longer than they do. The module of every name that is not here is `gateway.events`.
_MODULES = {
    "Answer": "gateway.turn",
    "GatewayError": "gateway.errors",
    "Options": "gateway.turn",
    "Settings": "gateway.settings",
    "Turn": "gateway.turn",
    "create_app": "gateway.web.app",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        value: Any = _read_version()
    elif name in __all__:
        value = getattr(import_module(_MODULES.get(name, "gateway.events")), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def _read_version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("agui-gateway")
    except PackageNotFoundError:  # a checkout that was never installed
        return "0"
