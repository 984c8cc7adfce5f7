"""The home directory of a principal, for agents whose users each have an account of their own.

In: a principal, and the operator's settings. Out: a `Home`, and the environment in which the principal's agents are
started and probed: `HOME` is a directory of its own, secrets come from files of its own, and of the gateway's
environment only what names no account is passed. Never: a secret of the gateway's, unless the operator shares it by
name; another principal's directory. Agents of all principals run as one user of the system: that an agent cannot read
another directory is the sandbox's task.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from gateway.catalog.definition import AgentDefinition
from gateway.drivers.environment import BASE_NAMES, GATEWAY_PREFIX, select_variables
from gateway.errors import AgentFault
from gateway.identity import LOCAL
from gateway.settings import Settings

log = logging.getLogger(__name__)

HOME_PLACEHOLDER = "{home}"
OWN_NAMES = ("HOME", "XDG_*")
"""Variables that lead to the gateway's own home, and from XDG_RUNTIME_DIR to its user's keyring."""
DIGEST_CHARS = 32
MAX_SECRET_BYTES = 64 * 1024
VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
DIRECTORY_NAME = re.compile(r"[A-Za-z0-9_@-][A-Za-z0-9._@-]{0,127}")


@dataclass(frozen=True, slots=True)
class Home:
    """Of one principal."""

    principal: str
    path: Path
    """The directory of the principal: `home` is the agents' HOME, `env` has a file for each secret."""
    secrets_dir: Path | None = None
    """A second directory with such files, which the operator mounts."""
    shared_env: tuple[str, ...] = ()
    """Variables of the gateway that every principal's agents get."""

    @property
    def directory(self) -> Path:
        return self.path / "home"

    @property
    def env_directory(self) -> Path:
        return self.path / "env"

    def prepare(self) -> None:
        """Creates the directories, which only the gateway's user can read. Raises `AgentFault`."""
        try:
            for directory in (self.path.parent, self.path, self.directory, self.env_directory):
                directory.mkdir(mode=0o700, parents=True, exist_ok=True)
                directory.chmod(0o700)
        except OSError as exc:
            raise AgentFault(f"the home of {self.principal!r} cannot be created: {exc}", code="HOME_UNUSABLE") from exc

    def environ(self, definition: AgentDefinition, gateway_environ: Mapping[str, str]) -> dict[str, str]:
        """What takes the place of the gateway's environment for this principal's agents."""
        base = [name for name in BASE_NAMES if name not in OWN_NAMES]
        shared = select_variables((*base, *self.shared_env), gateway_environ)
        home = str(self.directory)
        leading = {name: part.replace(HOME_PLACEHOLDER, home) for name, part in definition.home_env.items()}
        return {**shared, **self.read_secrets(), **leading, "HOME": home}

    def read_secrets(self) -> dict[str, str]:
        """Each file is a variable: its name, and what is in it without the last line end."""
        secrets: dict[str, str] = {}
        for directory in (self.secrets_dir, self.env_directory):
            if directory is not None and directory.is_dir():
                secrets.update(_read_directory(directory))
        return secrets

    def save_secret(self, name: str, value: str) -> Path:
        """Writes a file that only the gateway's user can read."""
        if not VARIABLE_NAME.fullmatch(name) or name.startswith(GATEWAY_PREFIX):
            raise ValueError(f"{name!r} is not the name of a variable that an agent can get")
        self.prepare()
        path = self.env_directory / name
        path.unlink(missing_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(value)
        return path


class PrincipalHomes:
    """Decides who has a home of its own."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def find(self, definition: AgentDefinition, principal: str) -> Home | None:
        """None: the agent runs in the gateway's own home. So it does for requests without a token, where the gateway
        asks for none: they are its own user's."""
        if not definition.is_local_process or principal == LOCAL:
            return None
        if (definition.credentials or self._settings.credentials) == "shared":
            return None
        return self.open(principal)

    def open(self, principal: str) -> Home:
        digest = sha256(principal.encode("utf-8", "surrogatepass")).hexdigest()[:DIGEST_CHARS]
        mounted = self._settings.credentials_dir
        name = principal if DIRECTORY_NAME.fullmatch(principal) else digest
        return Home(
            principal,
            self._settings.homes / digest,
            None if mounted is None else mounted / name,
            self._settings.shared_env,
        )


def agent_environ(definition: AgentDefinition, home: Home | None) -> Mapping[str, str]:
    """The environment that an agent's own is selected from."""
    return os.environ if home is None else home.environ(definition, os.environ)


def _read_directory(directory: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for path in sorted(directory.iterdir()):
        if not VARIABLE_NAME.fullmatch(path.name) or not path.is_file():
            continue
        try:
            data = path.read_bytes()
            if len(data) > MAX_SECRET_BYTES or b"\0" in data:
                raise ValueError("it is no text of a variable")
            found[path.name] = data.decode("utf-8").removesuffix("\n").removesuffix("\r")
        except (OSError, ValueError) as exc:
            log.warning("the secret %s is left out: %s", path, exc)
    return found
