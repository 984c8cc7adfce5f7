"""What a gateway answers about its agents, as JSON."""

from __future__ import annotations

from typing import Any

from tests.support.gateway import Gateway

TEN = ("claude", "codex", "gemini", "copilot", "cursor", "opencode", "pi", "omp", "openclaw", "hermes")
"""The agents that agent-mux has."""
ABSENT: Any = object()


def ask(gateway: Gateway, path: str, **params: str) -> Any:
    response = gateway.client.get(path, params=params)
    assert response.status_code == 200, response.text
    return response.json()


def capabilities(gateway: Gateway, agent: str, view: str, **params: str) -> Any:
    """AG-UI's in the spelling of the interface that is published as text: `subAgents`."""
    params |= {"protocol": "0"} if view == "agui" else {"view": view}
    return ask(gateway, f"/agents/{agent}/capabilities", **params)


def offered_options(gateway: Gateway, agent: str, **params: str) -> dict[str, Any]:
    """What a run may ask for: option → False, True or what is allowed."""
    tree = ask(gateway, f"/agents/{agent}/capabilities", **params)
    options: dict[str, Any] = tree["custom"]["gateway"]["options"]
    return options


def value_at(tree: Any, path: str) -> Any:
    """The value at a dotted path, or ABSENT."""
    for key in path.split("."):
        if not isinstance(tree, dict) or key not in tree:
            return ABSENT
        tree = tree[key]
    return tree
