"""The operator's token file: tokens as hashes, with their scopes, agents and dates.

In: a path. Out: `TokenRecord`s, or a `ConfigError` with the line or the key that is wrong. The file is JSON, written by
`agui-gateway token`; it holds only SHA-256 hashes of random 256-bit tokens, so that a copy of it opens nothing. Files
of plain lines (`name[read,run]:token`) are read too, but only where no user but their owner can read them.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson

from gateway.errors import ConfigError
from gateway.identity import DEFAULT_SCOPES, LOCAL, SCOPES

VERSION = 2
TOKEN_PREFIX = "agw_"
"""By which secret scanners recognise a token of this gateway."""
TOKEN_BYTES = 32
MIN_TOKEN_CHARS = 16
"""Of a token in a file of plain lines, where people choose them."""
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
HASH = re.compile(r"[0-9a-f]{64}")
KEYS = frozenset(("name", "sha256", "scopes", "agents", "expires", "created"))
ADVICE = "make one with: agui-gateway token add NAME --file"


@dataclass(frozen=True, slots=True)
class TokenRecord:
    name: str
    """The principal."""
    sha256: str
    """Of the token, in hexadecimal digits."""
    scopes: frozenset[str] = DEFAULT_SCOPES
    agents: frozenset[str] | None = None
    """The agents that it may use; None: all."""
    expires: float | None = None
    """In seconds since the epoch; None: never."""
    created: float | None = None

    def to_json(self) -> dict[str, Any]:
        fields = {
            "name": self.name,
            "sha256": self.sha256,
            "scopes": sorted(self.scopes),
            "agents": None if self.agents is None else sorted(self.agents),
            "expires": to_date(self.expires),
            "created": to_date(self.created),
        }
        return {key: value for key, value in fields.items() if value is not None}


def to_date(seconds: float | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def new_token() -> str:
    return TOKEN_PREFIX + secrets.token_urlsafe(TOKEN_BYTES)


def hash_token(token: str) -> str:
    return sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


def read_token_file(path: Path) -> list[TokenRecord]:
    """Raises `ConfigError`."""
    text = _read_text(path)
    records = _parse_json(text, path) if text.lstrip().startswith("{") else list(_parse_lines(text, path))
    if not records and not text.lstrip().startswith("{"):
        raise ConfigError(f"{path}: there is no token in it; {ADVICE} {path}")
    names = [record.name for record in records]
    for number, name in enumerate(names):
        if name in names[:number] or name == LOCAL:
            raise ConfigError(f"{path}: tokens[{number}].name: the name {name!r} is taken")
    return records


def write_token_file(path: Path, records: Sequence[TokenRecord]) -> None:
    """Replaces the file in one step; only its owner can read it. Raises `ConfigError`."""
    document = {"version": VERSION, "tokens": [record.to_json() for record in records]}
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as new:  # mode 0600
            new.write(orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
            new.flush()
            os.fsync(new.fileno())
        os.replace(new.name, path)
    except OSError as exc:
        raise ConfigError(f"{path}: the token file cannot be written ({exc.strerror})") from exc


# -- reading


def _read_text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            _check_mode(path, file.fileno())
            data = file.read()
            if not data.lstrip().startswith(b"{"):
                _check_unreadable(path, os.fstat(file.fileno()))
            return data.decode("utf-8")
    except (OSError, UnicodeDecodeError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) else "not UTF-8"
        raise ConfigError(f"{path}: the token file cannot be read ({reason}); {ADVICE} {path}") from exc


def _check_mode(path: Path, file: int) -> None:
    """A user who can write the file can add a token. Raises `ConfigError`."""
    if os.name != "posix":
        return
    status = os.fstat(file)
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise ConfigError(f"{path}: others than its owner may write the token file; run: chmod 600 {path}")
    is_read_only = os.fstatvfs(file).f_flag & os.ST_RDONLY
    if status.st_uid not in (0, os.geteuid()) and not is_read_only:  # a container's mount keeps the owner of outside
        detail = f"{path}: the token file belongs to another user (uid {status.st_uid}), who could add tokens"
        raise ConfigError(f"{detail}; run: chown {os.geteuid()} {path}")


def _check_unreadable(path: Path, status: os.stat_result) -> None:
    """A file of plain lines has tokens in it. Raises `ConfigError`."""
    if os.name == "posix" and status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        detail = f"{path}: others than its owner may read the tokens in it"
        raise ConfigError(f"{detail}; run: chmod 600 {path} (or: agui-gateway token hash --file {path})")


def _parse_json(text: str, path: Path) -> list[TokenRecord]:
    try:
        document = orjson.loads(text)
    except orjson.JSONDecodeError as exc:
        raise ConfigError(f"{path}: not JSON: {exc}") from exc
    if not isinstance(document, dict) or document.get("version") != VERSION or set(document) != {"version", "tokens"}:
        raise ConfigError(f'{path}: a token file is {{"version": {VERSION}, "tokens": […]}}')
    tokens = document["tokens"]
    if not isinstance(tokens, list):
        raise ConfigError(f"{path}: tokens: must be a list")
    return [_parse_entry(entry, f"{path}: tokens[{number}]") for number, entry in enumerate(tokens)]


def _parse_entry(entry: Any, location: str) -> TokenRecord:
    if not isinstance(entry, Mapping) or not set(entry) <= KEYS:
        raise ConfigError(f"{location}: must be an object with the keys {', '.join(sorted(KEYS))}")
    name, digest = entry.get("name"), entry.get("sha256")
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise ConfigError(f"{location}.name: {NAME_RULE}")
    if not isinstance(digest, str) or not HASH.fullmatch(digest):
        raise ConfigError(f"{location}.sha256: the hash of a token has 64 hexadecimal digits")
    return TokenRecord(
        name,
        digest,
        check_scopes(_strings(entry.get("scopes"), f"{location}.scopes"), f"{location}.scopes"),
        None if entry.get("agents") is None else frozenset(_strings(entry["agents"], f"{location}.agents")),
        _parse_date(entry.get("expires"), f"{location}.expires"),
        _parse_date(entry.get("created"), f"{location}.created"),
    )


NAME_RULE = "a token's name has letters, digits and . _ @ -, at most 64, and begins with a letter or digit"


def check_name(name: str) -> str:
    """Raises `ConfigError`."""
    if not NAME.fullmatch(name) or name == LOCAL:
        raise ConfigError(f"{name!r}: {NAME_RULE}; {LOCAL!r} is taken")
    return name


def check_scopes(scopes: Sequence[str], location: str) -> frozenset[str]:
    """Without any: those that a principal has by default. Raises `ConfigError`."""
    if unknown := sorted(set(scopes) - SCOPES):
        raise ConfigError(f"{location}: there is no scope {unknown[0]!r}. Known: {', '.join(sorted(SCOPES))}.")
    return frozenset(scopes) or DEFAULT_SCOPES


def _strings(value: Any, location: str) -> list[str]:
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ConfigError(f"{location}: must be a list of strings")
    return value


def _parse_date(value: Any, location: str) -> float | None:
    if value is None:
        return None
    try:
        date = datetime.fromisoformat(value)
    except (TypeError, ValueError) as exc:
        raise ConfigError(f"{location}: must be a date and time such as 2027-01-31T12:00:00+00:00") from exc
    return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()


# -- plain lines


def _parse_lines(text: str, path: Path) -> Iterator[TokenRecord]:
    """`name:token`, `name[read,run]:token`, or just the token; a `#` begins a comment. Without scopes such a token
    has all of them."""
    names = {LOCAL}
    for number, line in enumerate(text.splitlines(), 1):
        if not (content := line.partition("#")[0].strip()):
            continue
        prefix, separator, token = content.rpartition(":")
        name, bracket, scopes = prefix.partition("[")
        name = name.strip() if separator else f"token-{number}"
        location = f"{path}:{number}"
        if len(token) < MIN_TOKEN_CHARS:
            raise ConfigError(f"{location}: a token has at least {MIN_TOKEN_CHARS} characters")
        if not NAME.fullmatch(name):
            raise ConfigError(f"{location}: {NAME_RULE}")
        if name in names:
            raise ConfigError(f"{location}: the name {name!r} is taken")
        names.add(name)
        yield TokenRecord(name, hash_token(token), _parse_scopes(scopes, location) if bracket else SCOPES)


def _parse_scopes(text: str, location: str) -> frozenset[str]:
    scopes = {scope.strip() for scope in text.strip().removesuffix("]").split(",")}
    if not text.strip().endswith("]") or not scopes <= SCOPES:
        raise ConfigError(f"{location}: scopes are written as name[read,run]:token, of {', '.join(sorted(SCOPES))}")
    return frozenset(scopes)
