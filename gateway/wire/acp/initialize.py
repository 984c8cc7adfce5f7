"""The answer to `initialize`, in one shape for protocol versions 1 and 2, and what it tells of the agent.

In: the result object, however incomplete. Out: a `Handshake`; from it AG-UI's capability layer and the normalised view
that hosts of ACP agents use. Only what the agent told is claimed: what ACP has no word for stays absent.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gateway.capability_paths import ACP, STEERING
from gateway.wire.fields import has_marker, items, non_empty, obj, present
from gateway.wire.prompt_content import PromptContent

__all__ = ["AuthMethod", "Handshake", "acp_view", "agui_layer", "read_handshake"]


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
    """Absent on the wire means unsupported, so every capability is a plain bool."""

    protocol_version: int = 1
    """The version really spoken, whatever number was echoed."""
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
    probe_mcp_stdio: bool = True
    mcp_http: bool = False
    mcp_sse: bool = False
    mcp_acp: bool = False
    logout: bool = False
    auth_status: bool = False
    providers: bool = False
    steering: bool = False
    """It takes words for a turn under way: an extension, told beside the capabilities."""
    auth_methods: tuple[AuthMethod, ...] = ()
    raw: dict[str, Any] = field(default_factory=dict)
    """The result as it came, vendors' `_meta` included: for the gateway, never for clients."""

    @property
    def prompt_content(self) -> PromptContent:
        """The kinds of content that `session/prompt` may carry."""
        return PromptContent(self.image, self.audio, self.embedded_context, self.title or self.name)


def read_handshake(result: Any) -> Handshake:
    """Several agents echo any version they are asked for and go on in 1: only `info`, which 2 requires, proves 2."""
    told = obj(result)
    second = told.get("protocolVersion") == 2 and isinstance(told.get("info"), dict)
    info = obj(told.get("info" if second else "agentInfo"))
    read = _read_second if second else _read_first
    return Handshake(
        protocol_version=2 if second else 1,
        name=non_empty(info.get("name")),
        title=non_empty(info.get("title")),
        version=non_empty(info.get("version")),
        auth_methods=tuple(_auth_methods(told.get("authMethods"))),
        raw=told,
        steering=has_marker(obj(obj(told.get("_meta")).get("steering")).get("supported")),
        **read(obj(told.get("capabilities" if second else "agentCapabilities"))),
        **({"logout": bool(items(told.get("authMethods")))} if second else {}),
    )


def _read_first(told: dict[str, Any]) -> dict[str, bool]:
    prompt, mcp = obj(told.get("promptCapabilities")), obj(told.get("mcpCapabilities"))
    auth = obj(told.get("auth"))
    return _session(obj(told.get("sessionCapabilities"))) | {
        "load": has_marker(told.get("loadSession")),
        "image": has_marker(prompt.get("image")),
        "audio": has_marker(prompt.get("audio")),
        "embedded_context": has_marker(prompt.get("embeddedContext")),
        "mcp_http": has_marker(mcp.get("http")),
        "mcp_sse": has_marker(mcp.get("sse")),
        "mcp_acp": has_marker(mcp.get("acp")),
        "logout": has_marker(auth.get("logout")),
        "auth_status": has_marker(auth.get("status")),
        "providers": has_marker(told.get("providers")),
    }


def _read_second(told: dict[str, Any]) -> dict[str, bool]:
    session = obj(told.get("session"))
    prompt, mcp = obj(session.get("prompt")), obj(session.get("mcp"))
    # list, resume and close belong to every session of version 2; what load did, resume does with `replayFrom`.
    return _session(session | {"list": {}, "resume": {}, "close": {}}) | {
        "image": has_marker(prompt.get("image")),
        "audio": has_marker(prompt.get("audio")),
        "embedded_context": has_marker(prompt.get("embeddedContext")),
        "probe_mcp_stdio": has_marker(mcp.get("stdio")),
        "mcp_http": has_marker(mcp.get("http")),
        "mcp_acp": has_marker(mcp.get("acp")),
        "auth_status": has_marker(obj(told.get("auth")).get("status")),
        "providers": has_marker(told.get("providers")),
    }


def _session(told: dict[str, Any]) -> dict[str, bool]:
    names = {"additional_directories": "additionalDirectories", "set_title": "title", "system_prompt": "systemPrompt"}
    plain = ("resume", "fork", "close", "delete", "list", "archive", "status")
    found = {name: has_marker(told.get(key)) for name, key in [*names.items(), *zip(plain, plain, strict=True)]}
    mode = obj(obj(told.get("systemPrompt")).get("mode"))
    return found | {"system_prompt_override": has_marker(mode.get("override"))}


def _auth_methods(told: Any) -> list[AuthMethod]:
    found = []
    for method in items(told):
        name = non_empty(method.get("methodId")) or non_empty(method.get("id"))
        if name is None:
            continue
        args = method.get("args")
        found.append(
            AuthMethod(
                name,
                non_empty(method.get("name")) or name,
                non_empty(method.get("type")) or "agent",
                non_empty(method.get("description")),
                tuple(arg for arg in args if isinstance(arg, str)) if isinstance(args, list) else (),
                _environment(method.get("env")),
            )
        )
    return found


def _environment(told: Any) -> dict[str, str]:
    """An object in version 1, a list of pairs in 2."""
    pairs = told.items() if isinstance(told, dict) else ((e.get("name"), e.get("value")) for e in items(told))
    return {name: value for name, value in pairs if isinstance(name, str) and isinstance(value, str)}


def agui_layer(handshake: Handshake) -> dict[str, Any]:
    """AG-UI's capabilities as the agent told them, by dotted path. ACP has no block for video, so that one is a no."""
    layer: dict[str, Any] = present(
        {"identity.name": handshake.title or handshake.name, "identity.version": handshake.version}
    )
    layer |= {
        "multimodal.input.image": handshake.image,
        "multimodal.input.audio": handshake.audio,
        "multimodal.input.video": False,
        "multimodal.input.pdf": handshake.embedded_context,
        "multimodal.input.file": handshake.embedded_context,
    }
    if handshake.steering:
        layer[STEERING] = True
    for key, value in acp_view(handshake).items():
        if isinstance(value, dict):
            layer |= {f"{ACP}.{key}.{name}": told for name, told in value.items()}
        else:
            layer[f"{ACP}.{key}"] = value
    methods = [
        present({"id": m.id, "name": m.name, "type": m.type, "description": m.description})
        for m in handshake.auth_methods
    ]
    return layer | {f"{ACP}.authMethods": methods}


def acp_view(handshake: Handshake) -> dict[str, Any]:
    """agents-wire's `IAgentCapabilities`, then what ACP has gained since."""
    return {
        "loadSession": handshake.load,
        "forkSession": handshake.fork,
        "resumeSession": handshake.resume,
        "closeSession": handshake.close,
        "listSessions": handshake.list,
        "additionalDirectories": handshake.additional_directories,
        "mcp": {
            "stdio": handshake.probe_mcp_stdio,
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
