"""The actions that the audit log has, each with what its entries tell."""

from __future__ import annotations

from typing import Literal, get_args

Action = Literal[
    "agent.register",
    "agent.remove",
    "agent.install",
    "agent.plugins",
    "run.start",
    "run.cancel",
    "interrupt.approve",
    "interrupt.deny",
    "interrupt.answer",
    "thread.set",
    "thread.fork",
    "thread.delete",
    "thread.call",
    "worktree.commit",
    "worktree.merge",
    "worktree.discard",
    "session.take",
    "folder.trust",
    "folder.distrust",
    "token.add",
    "token.revoke",
    "principal.connect",
    "request.refuse",
    "audit.lose",
]
"""`agent.*`: a definition was registered or removed over HTTP, or an agent or one of its plugins
installed. `run.start`: with the options that matter.
`interrupt.*`: a tool call was approved or denied, or a question answered, with the call and its arguments. `thread.*`:
mode, model or option set, copied, deleted; `thread.call`: a method of the agent's own protocol. `worktree.*`: a
thread's work was committed, merged into the user's branch, or thrown away. `session.take`: an administrator continued
or copied the session of another principal, or one that the gateway does not know. `folder.*`, `token.*`: trust and
tokens. `principal.connect`: the first request of a principal since the gateway started, and one each day.
`request.refuse`: 401, 403 or 429, counted for each minute. `audit.lose`: entries that could not be stored."""

ACTIONS: tuple[str, ...] = get_args(Action)
