"""Views: one snapshot in the terms of several interfaces, chosen by `?view=`.

In: a snapshot and the agent's definition. Out: JSON. `VIEWS` lists the views: AG-UI's own, agents-wire's (`acp`),
agent-mux's (`mux`), Agent Relay's (`relay`). A new view is one module and one line in `registry.VIEWS`.
"""

from gateway.capabilities.views.registry import VIEWS, SnapshotEntry, render, resolve_view

__all__ = ["VIEWS", "SnapshotEntry", "render", "resolve_view"]
