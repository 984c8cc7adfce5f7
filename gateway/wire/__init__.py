"""Agents' protocols, without IO.

In: bytes or JSON values that an agent sent, and what the gateway wants of it. Out: events (`gateway.events`) and
messages for the agent. Never: a socket, a process, a clock; `drivers` has those.

Framing: `lines`, `content_length`, `sse`, `jsonrpc`. Shared by the protocols: `fields` (reads foreign JSON),
`approvals` and `elicitations` (interrupts and their answers), `requests`, `tool_calls`, `text_parts`, `activities`,
`ids`, `errors`, `client_tools` and `mcp_server` (the client's own tools). Protocols: `acp`, and `dialects` for the CLI
agents.
"""
