"""The params of ACP methods that a client may call through the gateway, by the published schema of version 1.

In: a method and its params. Out: nothing, or `BadInput` that names the field. The agent itself checks a method that is
not here, such as an extension, and fields that the schema does not have.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gateway.errors import BadInput

STRING = (str,)
OBJECT = (dict,)
ARRAY = (list,)
NULL = type(None)

Types = tuple[type, ...]

METHODS: dict[str, tuple[dict[str, Types], dict[str, Types]]] = {
    "authenticate": ({"methodId": STRING}, {}),
    "providers/list": ({}, {}),
    "providers/set": ({"providerId": STRING, "apiType": STRING, "baseUrl": STRING}, {"headers": OBJECT}),
    "providers/disable": ({"providerId": STRING}, {}),
    "logout": ({}, {}),
    "auth/status": ({}, {}),
    "session/list": ({}, {"cwd": (str, NULL), "cursor": (str, NULL), "archived": (str, NULL)}),
    "session/delete": ({"sessionId": STRING}, {}),
    "session/fork": (
        {"sessionId": STRING, "cwd": STRING},
        {"additionalDirectories": ARRAY, "mcpServers": ARRAY, "systemPrompt": (dict, NULL)},
    ),
    "session/archive": ({"sessionId": STRING}, {}),
    "session/unarchive": ({"sessionId": STRING}, {}),
    "session/status": ({"sessionId": STRING}, {}),
    "session/set_title": ({"sessionId": STRING, "title": STRING}, {}),
    "session/close": ({"sessionId": STRING}, {}),
    "session/set_mode": ({"sessionId": STRING, "modeId": STRING}, {}),
    "session/set_config_option": ({"sessionId": STRING, "configId": STRING}, {"type": STRING}),
    "mcp/message": (
        {"serverId": STRING, "requestId": STRING, "method": STRING},
        {"params": (dict, NULL)},
    ),
}
"""Method → (required fields, optional fields)."""


def check_params(method: str, params: Mapping[str, Any]) -> None:
    required, optional = METHODS.get(method, ({}, {}))
    for name, types in {**required, **optional}.items():
        if name not in params:
            if name in required:
                raise BadInput(f"{method} needs `params.{name}`", pointer=f"/params/{name}")
        elif not isinstance(params[name], types):
            kind = type(params[name]).__name__
            raise BadInput(f"`params.{name}` of {method} cannot be a {kind}", pointer=f"/params/{name}")
