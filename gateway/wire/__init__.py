"""Agents' protocols, pure: bytes or objects in, events and sends out. Nothing here opens, waits or looks at a clock."""
