"""The stage of ACP agents, for sessions that answer."""

from __future__ import annotations

from tests.behaviour.acp.conftest import stage

__all__ = ["stage"]
