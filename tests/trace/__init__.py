"""Traces of the gateway's own code: which modules a request passes, and in which direction."""
