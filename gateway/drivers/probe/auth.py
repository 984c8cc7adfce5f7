"""Is a user signed in at the agent? An environment variable, a file or a command shows it; the first one suffices.

In: `[[auth]]` of an agent's file, and the environment that the agent will have. Out: yes or no. Contents are never read
or shown: a file has only to exist, a variable only to be set.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from gateway.catalog.sections import Auth
from gateway.drivers.probe.command import Reply, ReplyCache, run_command

CACHE_SECONDS = {True: 30.0, False: 5.0}
"""How long a command's answer is used. "No" expires sooner: a user who has just signed in wants to see it."""

_replies: ReplyCache[Reply] = ReplyCache()


def has_static_sign(signs: Sequence[Auth], env: Mapping[str, str]) -> bool:
    """By variables and files alone: no command is run."""
    return any(_is_present(sign, env) for sign in signs)


def _is_present(sign: Auth, env: Mapping[str, str]) -> bool:
    match sign.kind:
        case "none":
            return True
        case "env":
            return bool(sign.name and env.get(sign.name))
        case "file":
            return bool(sign.name) and _expand(sign.name or "", env).exists()
        case "command":
            return False


def _expand(name: str, env: Mapping[str, str]) -> Path:
    """`~` is the home directory that the agent will see."""
    if name == "~" or name.startswith("~/"):
        return Path(env.get("HOME") or os.path.expanduser("~"), name[2:])
    return Path(name)


async def has_command_sign(signs: Sequence[Auth], env: Mapping[str, str]) -> bool:
    """By commands, one after the other."""
    for sign in signs:
        if sign.kind == "command" and sign.run and (await _run_cached(sign, env)).code == 0:
            return True
    return False


async def _run_cached(sign: Auth, env: Mapping[str, str]) -> Reply:
    key = (sign.run, hash(frozenset(env.items())))  # not the values: they may be secrets
    return await _replies.get(
        key, lambda: run_command(sign.run, env, sign.timeout), lambda reply: CACHE_SECONDS[reply.code == 0]
    )


def sign_in_hint(signs: Sequence[Auth]) -> str | None:
    return next((sign.hint for sign in signs if sign.hint), None)
