"""Signs that somebody is signed in: a variable, a file, a command that says so. The first that holds is enough.

In: `[[auth]]` of an agent's file, and the environment that the agent will have. Out: yes or no. What the signs hold is
never read, let alone shown: a file is only looked for, a variable only for being set.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from gateway.catalog.sections import Auth
from gateway.drivers.probe.command import Kept, Reply, ask

GOOD_FOR = {True: 30.0, False: 5.0}
"""Seconds that a command's word is believed: a yes for longer, for whoever has just signed in wants to see it."""

_answers: Kept[Reply] = Kept()


def seen(signs: Sequence[Auth], env: Mapping[str, str]) -> bool:
    """Those that can be seen without starting anything."""
    return any(_seen(sign, env) for sign in signs)


def _seen(sign: Auth, env: Mapping[str, str]) -> bool:
    match sign.kind:
        case "none":
            return True
        case "env":
            return bool(sign.name and env.get(sign.name))
        case "file":
            return bool(sign.name) and _path(sign.name or "", env).exists()
        case "command":
            return False


def _path(name: str, env: Mapping[str, str]) -> Path:
    """`~` is the home that the agent will see."""
    if name == "~" or name.startswith("~/"):
        return Path(env.get("HOME") or os.path.expanduser("~"), name[2:])
    return Path(name)


async def told(signs: Sequence[Auth], env: Mapping[str, str]) -> bool:
    """Those that must be asked, one after the other."""
    for sign in signs:
        if sign.kind == "command" and sign.run and (await _asked(sign, env)).code == 0:
            return True
    return False


async def _asked(sign: Auth, env: Mapping[str, str]) -> Reply:
    key = (sign.run, hash(frozenset(env.items())))  # not the values: they may be secrets
    return await _answers.get(key, lambda: ask(sign.run, env, sign.timeout), lambda reply: GOOD_FOR[reply.code == 0])


def hint(signs: Sequence[Auth]) -> str | None:
    return next((sign.hint for sign in signs if sign.hint), None)
