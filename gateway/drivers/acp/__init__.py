"""Agents that speak the Agent Client Protocol over stdio."""

from gateway.drivers.acp.driver import AcpDriver

__all__ = ["AcpDriver"]
