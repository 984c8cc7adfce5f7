"""A sandbox around an agent's process: bubblewrap, and a proxy that leads to the permitted hosts.

In: a command and a `SandboxPolicy`. Out: the process, started inside. `policy` says what is inside, `bubblewrap` turns
that into a command, `proxy` and `forwarder` are the two ends of its network, `launch` puts them together.
"""
