"""The token of the person at the machine, where the system does not tell which user calls.

In: the user's data directory. Out: the token, made at the first start and kept in a file that only its owner can read.
The start banner prints a URL with it, and the gateway's own commands send it to gateways of this machine.
"""

from __future__ import annotations

import os
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import Literal

from gateway.errors import ConfigError
from gateway.settings import Settings, data_dir
from gateway.web.auth.socket_owner import can_read_owners
from gateway.web.auth.token_file import TOKEN_PREFIX, new_token

FILE_NAME = "local-token"
LOOPBACK_HOSTS = frozenset(("localhost", "127.0.0.1", "::1", "[::1]"))


def local_token_path() -> Path:
    return data_dir() / FILE_NAME


def is_loopback(host: str) -> bool:
    return host in LOOPBACK_HOSTS or host.startswith("127.")


def has_credentials(settings: Settings) -> bool:
    """Whether every caller needs a credential that the operator gives out."""
    return settings.token_file is not None or settings.oidc_issuer is not None or settings.proxy_user_header is not None


def choose_local_auth(settings: Settings) -> Literal["user", "token", "none"]:
    """How the gateway knows the person at the machine. A user can be known only where the system says so, and only on
    loopback."""
    if settings.local_auth != "auto":
        return settings.local_auth
    return "user" if is_loopback(settings.host) and can_read_owners() else "token"


def read_local_token() -> str | None:
    """None: there is none. Raises `ConfigError` where others could have read it."""
    path = local_token_path()
    try:
        with path.open("r", encoding="utf-8") as file:
            status = os.fstat(file.fileno())
            token = file.read().strip()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as exc:
        raise ConfigError(f"{path}: the token of this machine's user cannot be read: {exc}") from exc
    if sys.platform != "win32" and (status.st_uid != os.geteuid() or status.st_mode & (stat.S_IRWXG | stat.S_IRWXO)):
        raise ConfigError(f"{path}: others than you may read it, so it is no secret; delete it and start again")
    if not token.startswith(TOKEN_PREFIX):
        raise ConfigError(f"{path}: there is no token in it; delete it and start again")
    return token


def ensure_local_token() -> str:
    """The token; made if there is none. Raises `ConfigError`."""
    if (token := read_local_token()) is not None:
        return token
    path = local_token_path()
    token = new_token()
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        part = path.with_name(f"{FILE_NAME}.{os.getpid()}")
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600), "w") as file:
            file.write(f"{token}\n")
        try:
            os.link(part, path)  # fails where another gateway was first
        except FileExistsError:
            token = read_local_token() or token
        finally:
            with suppress(OSError):
                part.unlink()
    except OSError as exc:
        raise ConfigError(f"{path}: cannot be written: {exc.strerror}") from exc
    return token
