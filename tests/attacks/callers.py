"""Callers that are not the person who started the gateway: other users of the machine, holders of certain tokens."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from gateway.web.auth.token_file import TokenRecord, hash_token, write_token_file
from tests.support.gateway import Gateway

STRANGER_UID = 65534
GATEWAY_UID = 65533
ANSWER_LIMIT = 30.0
MANY_LOGINS = {"AGUI_GATEWAY_MAX_FAILED_LOGINS": "100000"}
"""For tests that send many wrong tokens: how many an address may send has a test of its own."""

needs_other_users = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0 or not shutil.which("setpriv") or not shutil.which("curl"),
    reason="only root can become another user; needs setpriv and curl",
)


def run_as(uid: int | None, *command: str) -> str:
    """What the command prints, run as this user; None: as the one who runs the tests."""
    prefix = () if uid is None else as_user(uid)
    done = subprocess.run([*prefix, *command], capture_output=True, text=True, timeout=ANSWER_LIMIT, cwd="/")
    return done.stdout


def as_user(uid: int, *capabilities: str) -> list[str]:
    """The command line by which another one runs as this user."""
    kept = [f"--{kind}-caps=+{name}" for name in capabilities for kind in ("inh", "ambient")]
    return ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", *kept]


def curl_as(uid: int | None, url: str, *flags: str) -> tuple[int, dict[str, Any]]:
    """Status and JSON of the answer."""
    printed = run_as(uid, "curl", "-sS", "-w", "\n%{http_code}", *flags, url)
    body, _, status = printed.rpartition("\n")
    try:
        return int(status), json.loads(body)
    except ValueError:
        return int(status), {"text": body}


def write_tokens(path: Path, **tokens: Any) -> dict[str, dict[str, str]]:
    """Name → keys of its record. Returns the headers of each."""
    records = [TokenRecord(name, hash_token(token_of(name)), **keys) for name, keys in tokens.items()]
    write_token_file(path, records)
    return {name: {"authorization": f"Bearer {token_of(name)}"} for name in tokens}


def token_of(name: str) -> str:
    return f"agw_{name}-0123456789abcdef0123456789abcdef"


class UserGateway(Gateway):
    """A gateway that runs as another user. It may read all files, because the tests' own Python may not be readable for
    that user; this says nothing of whom it lets in."""

    def __init__(self, home: Path, uid: int, *flags: str) -> None:
        home.mkdir(parents=True, exist_ok=True)
        os.chown(home, uid, uid)
        super().__init__(home, *flags, prefix=as_user(uid, "dac_read_search"))
