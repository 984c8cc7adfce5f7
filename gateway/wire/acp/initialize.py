"""ACP's `initialize` (https://agentclientprotocol.com/protocol/initialization): our params, and the agent's result.

In: what this gateway offers an agent (`ClientCapabilities`), and the agent's result, however incomplete. Out: the
params of the request, and one `Handshake` for protocol versions 1 and 2; from it AG-UI's capability layer and the
normalised view that hosts of ACP agents use. Never: an offer that the gateway does not handle, or a capability that the
agent did not state; what ACP has no field for stays absent.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gateway.capability_paths import ACP, STEERING
from gateway.wire.fields import has_marker, items, non_empty, obj, present, strings, value_at
from gateway.wire.prompt_content import PromptContent

__all__ = [
    "AuthMethod",
    "ClientCapabilities",
    "Handshake",
    "acp_view",
    "agui_layer",
    "initialize_params",
    "read_handshake",
]


# -- what the gateway offers


@dataclass(frozen=True, slots=True)
class ClientCapabilities:
    """Each default is the safe one: an agent writes files and runs commands itself if the client does not offer to."""

    fs_read: bool = False
    fs_write: bool = False
    terminal: bool = False
    elicitation_form: bool = True
    elicitation_url: bool = True
    auth_terminal: bool = True
    """The operator can run a sign-in command in a terminal; the gateway shows it."""
    terminal_output: bool = False
    """An extension: some agents then stream a command's output in `_meta` of the tool call's updates."""
    name: str = "agui-gateway"
    title: str = "AG-UI gateway"
    version: str = "0"


def initialize_params(version: int, client: ClientCapabilities) -> dict[str, Any]:
    """For version 1 its own form. To ask for version 2, both forms in one object: an agent reads the one it knows, and
    an agent of version 2 refuses the older form."""
    info = {"name": client.name, "title": client.title, "version": client.version}
    params: dict[str, Any] = {"protocolVersion": version, "clientCapabilities": _offer_v1(client), "clientInfo": info}
    if version >= 2:
        params |= {"capabilities": _offer_v2(client), "info": info}
    return params


def _elicitation(client: ClientCapabilities) -> dict[str, Any]:
    modes = {"form": client.elicitation_form, "url": client.elicitation_url}
    return {mode: {} for mode, is_offered in modes.items() if is_offered}


def _offer_v1(client: ClientCapabilities) -> dict[str, Any]:
    offered: dict[str, Any] = {
        "fs": {"readTextFile": client.fs_read, "writeTextFile": client.fs_write},
        "terminal": client.terminal,
        "auth": {"terminal": client.auth_terminal},
        "session": {"configOptions": {"boolean": {}}, "compaction": {}, "notices": {}},
        "plan": {},
        "subagents": {},
    }
    if modes := _elicitation(client):
        offered["elicitation"] = modes
    if client.terminal_output:
        offered["_meta"] = {"terminal_output": True}
    return offered


def _offer_v2(client: ClientCapabilities) -> dict[str, Any]:
    """In version 2 plans, notices and compaction need no offer, and the client has neither files nor terminals."""
    offered: dict[str, Any] = {}
    if client.auth_terminal:
        offered["auth"] = {"terminal": {}}
    if modes := _elicitation(client):
        offered["elicitation"] = modes
    return offered


# -- what the agent answers


@dataclass(frozen=True, slots=True)
class AuthMethod:
    """One way to sign in. `type`: agent (call it), terminal (a person runs the command), or a vendor's own."""

    id: str
    name: str
    type: str = "agent"
    description: str | None = None
    args: tuple[str, ...] = ()
    """terminal: appended to the agent's own command."""
    env: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Handshake:
    """The agent's capabilities. In ACP an absent one is unsupported, so each is a plain bool."""

    protocol_version: int = 1
    """The version that the agent really speaks, whatever number it echoed."""
    name: str | None = None
    title: str | None = None
    version: str | None = None
    load: bool = False
    resume: bool = False
    fork: bool = False
    close: bool = False
    delete: bool = False
    list: bool = False
    additional_directories: bool = False
    archive: bool = False
    status: bool = False
    set_title: bool = False
    system_prompt: bool = False
    system_prompt_override: bool = False
    image: bool = False
    audio: bool = False
    embedded_context: bool = False
    mcp_stdio: bool = True
    mcp_http: bool = False
    mcp_sse: bool = False
    mcp_acp: bool = False
    logout: bool = False
    auth_status: bool = False
    providers: bool = False
    steering: bool = False
    """It takes user messages during a turn: an extension, stated in `_meta`."""
    auth_methods: tuple[AuthMethod, ...] = ()
    raw: dict[str, Any] = field(default_factory=dict)
    """The result as it came, vendors' `_meta` included: for the gateway, never for clients."""

    @property
    def prompt_content(self) -> PromptContent:
        """The kinds of content that `session/prompt` may carry."""
        return PromptContent(self.image, self.audio, self.embedded_context, agent_name=self.title or self.name)


def read_handshake(result: Any) -> Handshake:
    """Several agents echo any version they are asked for and go on in 1: only `info`, which 2 requires, proves 2."""
    answer = obj(result)
    is_v2 = answer.get("protocolVersion") == 2 and isinstance(answer.get("info"), dict)
    info = obj(answer.get("info" if is_v2 else "agentInfo"))
    read_capabilities = _read_v2 if is_v2 else _read_v1
    return Handshake(
        protocol_version=2 if is_v2 else 1,
        name=non_empty(info.get("name")),
        title=non_empty(info.get("title")),
        version=non_empty(info.get("version")),
        auth_methods=tuple(_auth_methods(answer.get("authMethods"))),
        raw=answer,
        steering=has_marker(value_at(answer, "_meta", "steering", "supported")),
        **read_capabilities(obj(answer.get("capabilities" if is_v2 else "agentCapabilities"))),
        **({"logout": bool(items(answer.get("authMethods")))} if is_v2 else {}),
    )


def _read_v1(capabilities: dict[str, Any]) -> dict[str, bool]:
    prompt = obj(capabilities.get("promptCapabilities"))
    mcp = obj(capabilities.get("mcpCapabilities"))
    auth = obj(capabilities.get("auth"))
    return _read_session(obj(capabilities.get("sessionCapabilities"))) | {
        "load": has_marker(capabilities.get("loadSession")),
        "image": has_marker(prompt.get("image")),
        "audio": has_marker(prompt.get("audio")),
        "embedded_context": has_marker(prompt.get("embeddedContext")),
        "mcp_http": has_marker(mcp.get("http")),
        "mcp_sse": has_marker(mcp.get("sse")),
        "mcp_acp": has_marker(mcp.get("acp")),
        "logout": has_marker(auth.get("logout")),
        "auth_status": has_marker(auth.get("status")),
        "providers": has_marker(capabilities.get("providers")),
    }


def _read_v2(capabilities: dict[str, Any]) -> dict[str, bool]:
    session = obj(capabilities.get("session"))
    prompt = obj(session.get("prompt"))
    mcp = obj(session.get("mcp"))
    # Every session of version 2 has list, resume and close; resume with `replayFrom` does what load did.
    return _read_session(session | {"list": {}, "resume": {}, "close": {}}) | {
        "image": has_marker(prompt.get("image")),
        "audio": has_marker(prompt.get("audio")),
        "embedded_context": has_marker(prompt.get("embeddedContext")),
        "mcp_stdio": has_marker(mcp.get("stdio")),
        "mcp_http": has_marker(mcp.get("http")),
        "mcp_acp": has_marker(mcp.get("acp")),
        "auth_status": has_marker(value_at(capabilities, "auth", "status")),
        "providers": has_marker(capabilities.get("providers")),
    }


def _read_session(capabilities: dict[str, Any]) -> dict[str, bool]:
    keys = {"additional_directories": "additionalDirectories", "set_title": "title", "system_prompt": "systemPrompt"}
    keys |= {key: key for key in ("resume", "fork", "close", "delete", "list", "archive", "status")}
    has_override = has_marker(value_at(capabilities, "systemPrompt", "mode", "override"))
    return {name: has_marker(capabilities.get(key)) for name, key in keys.items()} | {
        "system_prompt_override": has_override
    }


def _auth_methods(methods: Any) -> list[AuthMethod]:
    return [
        AuthMethod(
            method_id,
            non_empty(method.get("name")) or method_id,
            non_empty(method.get("type")) or "agent",
            non_empty(method.get("description")),
            tuple(strings(method.get("args"))),
            _environment(method.get("env")),
        )
        for method in items(methods)
        if (method_id := non_empty(method.get("methodId")) or non_empty(method.get("id"))) is not None
    ]


def _environment(env: Any) -> dict[str, str]:
    """An object in version 1, a list of pairs in 2."""
    pairs = env.items() if isinstance(env, dict) else ((pair.get("name"), pair.get("value")) for pair in items(env))
    return {name: value for name, value in pairs if isinstance(name, str) and isinstance(value, str)}


# -- what it means for clients


def agui_layer(handshake: Handshake) -> dict[str, Any]:
    """AG-UI's capabilities as the agent stated them, by dotted path. ACP has no block for video, so that is False. Nor
    has it a word for PDF documents: `embeddedContext` promises that the agent takes a resource, and nearly all agents
    drop one that is no text."""
    names = present({"name": handshake.name, "title": handshake.title})
    layer: dict[str, Any] = present({"identity.version": handshake.version})
    layer |= {f"identity.metadata.acp.{key}": value for key, value in names.items()}
    layer |= {
        "multimodal.input.image": handshake.image,
        "multimodal.input.audio": handshake.audio,
        "multimodal.input.video": False,
        "multimodal.input.pdf": False,
        "multimodal.input.file": handshake.embedded_context,
    }
    if handshake.steering:
        layer[STEERING] = True
    for key, value in acp_view(handshake).items():
        if isinstance(value, dict):
            layer |= {f"{ACP}.{key}.{name}": supported for name, supported in value.items()}
        else:
            layer[f"{ACP}.{key}"] = value
    methods = [
        present({"id": method.id, "name": method.name, "type": method.type, "description": method.description})
        for method in handshake.auth_methods
    ]
    return layer | {f"{ACP}.authMethods": methods}


def acp_view(handshake: Handshake) -> dict[str, Any]:
    """The fields of agents-wire's `IAgentCapabilities`, then those that ACP has gained since."""
    return {
        "loadSession": handshake.load,
        "forkSession": handshake.fork,
        "resumeSession": handshake.resume,
        "closeSession": handshake.close,
        "listSessions": handshake.list,
        "additionalDirectories": handshake.additional_directories,
        "mcp": {
            "stdio": handshake.mcp_stdio,
            "http": handshake.mcp_http,
            "sse": handshake.mcp_sse,
            "acp": handshake.mcp_acp,
        },
        "prompt": {
            "text": True,
            "image": handshake.image,
            "audio": handshake.audio,
            "embeddedContext": handshake.embedded_context,
        },
        "deleteSession": handshake.delete,
        "logout": handshake.logout,
        "authStatus": handshake.auth_status,
        "providers": handshake.providers,
        "archive": handshake.archive,
        "status": handshake.status,
        "title": handshake.set_title,
        "systemPrompt": handshake.system_prompt,
        "protocolVersion": handshake.protocol_version,
    }
