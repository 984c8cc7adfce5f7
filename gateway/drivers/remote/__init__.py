"""Agents that are reached by AG-UI itself."""

from gateway.drivers.remote.driver import RemoteDriver

__all__ = ["RemoteDriver"]
