"""Shared subscription: agents of all principals work with one account, and with everything that belongs to it.

The incident class: a gateway that serves several people starts every agent in its own home with its own keys. Then
each person's runs go out on the operator's subscription, which providers forbid, and each person's agent has the
others' sessions, memories and settings, because they are files of the same home.

The promise, with `credentials = "principal"`: each principal has a home directory and secrets of its own; the gateway's
keys are withheld unless the operator shares them by name; two principals never share a process; whether an agent is
signed in is answered for each; and without tokens the person at the machine keeps the usual home.
"""

from __future__ import annotations

import json
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gateway.drivers.homes import PrincipalHomes
from gateway.settings import Settings
from tests.attacks.principals import Principal, principals, write_tokens
from tests.behaviour.acp.harness import Stage, pid_of
from tests.support.gateway import run_input

OPERATORS_KEY = "operators-own-key-0123456789"
ENVIRONMENT = """
import json, os, sys
request = sys.stdin.readline()
print(json.dumps({name: value for name, value in os.environ.items()}))
"""


class Scene:
    def __init__(self, stage: Stage, homes: Path, people: list[Principal]) -> None:
        self.stage = stage
        self.homes = homes
        self.ann, self.bob = people

    def environment(self, caller: Principal) -> dict[str, str]:
        """Of the process that answers this caller."""
        environment: dict[str, str] = json.loads(caller.say("env", "show", f"{caller.name}-env"))
        return environment

    def availability(self, caller: Principal, agent: str) -> dict[str, Any]:
        availability: dict[str, Any] = caller.client.get(f"/agents/{agent}").json()["availability"]
        return availability


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    base = tmp_path_factory.mktemp("subscription")
    homes = base / "homes"
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("OPERATOR_API_KEY", OPERATORS_KEY)
        environment.setenv("SHARED_BASE_URL", "http://models.example")
        environment.setenv("XDG_CONFIG_HOME", str(base / "operators-config"))
        tokens = write_tokens(base / "tokens", ("ann", "bob"))
        settings = {"credentials": "principal", "homes": homes, "shared_env": "SHARED_BASE_URL"}
        stage = Stage(base / "gateway", "--token-file", str(tokens), **settings)
        stage.agent("full", "--full")
        text = {"dialect": "text", "process": "turn", "transport": "stdio-raw"}
        command = {"run": [sys.executable, "-c", ENVIRONMENT], "inherit_env": ["*"]}
        auth = [
            {"kind": "file", "name": "~/.signed-in", "hint": "run `scripted login`", "login": ["touch", ".signed-in"]}
        ]
        auth.append({"kind": "env", "name": "SCRIPTED_KEY"})
        leading = {"SCRIPTED_HOME": "{home}/.scripted"}
        stage.agent("env", driver="cli", command=command, cli=text, auth=auth, home_env=leading)
        with stage, principals(stage, "ann", "bob") as people:
            yield Scene(stage, homes, people)


def login(scene: Scene, principal: str, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """`agui-gateway login`, as the operator types it."""
    command = [sys.executable, "-m", "gateway", "login", "env", "--principal", principal, *arguments]
    env = {"PATH": "/usr/bin:/bin", "HOME": str(scene.homes.parent), "PYTHONPATH": "", "NO_COLOR": "1"}
    env |= {"AGUI_GATEWAY_HOMES": str(scene.homes), "AGUI_GATEWAY_CREDENTIALS": "principal"}
    env |= {"AGUI_GATEWAY_AGENTS": str(scene.stage.agents)}
    folder = Path(__file__).parents[2]
    return subprocess.run(command, env=env, cwd=folder, input=stdin, capture_output=True, text=True, timeout=60)


def test_each_principals_agent_has_a_home_of_its_own_that_only_the_gateways_user_reads(scene: Scene) -> None:
    homes = {caller.name: Path(scene.environment(caller)["HOME"]) for caller in (scene.ann, scene.bob)}
    assert homes["ann"] != homes["bob"]
    for home in homes.values():
        assert scene.homes in home.parents
        for folder in (scene.homes, home.parent, home, home.parent / "env"):
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_the_operators_keys_and_folders_are_withheld_unless_shared_by_name(scene: Scene) -> None:
    """Though the agent's file lets every variable through."""
    environment = scene.environment(scene.ann)
    assert OPERATORS_KEY not in environment.values()
    assert not {name for name in environment if name.startswith(("XDG_", "AGUI_GATEWAY_"))}
    assert environment["SHARED_BASE_URL"] == "http://models.example"
    assert environment["SCRIPTED_HOME"] == f"{environment['HOME']}/.scripted"


def test_a_sign_in_is_that_of_one_principal(scene: Scene) -> None:
    missing = scene.availability(scene.bob, "env")
    assert missing["status"] == "needs-auth"
    assert "agui-gateway login env --principal bob" in missing["hint"]
    signed_in = login(scene, "bob")
    assert signed_in.returncode == 0, signed_in.stderr
    assert scene.availability(scene.bob, "env")["status"] == "ready"
    snapshot = scene.bob.client.get("/agents/env/capabilities").json()
    assert snapshot["custom"]["gateway"]["availability"]["status"] == "ready"
    assert scene.availability(scene.ann, "env")["status"] == "needs-auth"
    snapshot = scene.ann.client.get("/agents/env/capabilities").json()
    assert snapshot["custom"]["gateway"]["availability"]["status"] == "needs-auth"


def test_a_secret_is_that_of_one_principal_and_in_a_file_that_only_the_gateways_user_reads(scene: Scene) -> None:
    saved = login(scene, "ann", "--secret", "SCRIPTED_KEY", stdin="anns-key-0123456789\n")
    assert saved.returncode == 0, saved.stderr
    assert "anns-key" not in saved.stdout + saved.stderr
    [path] = scene.homes.glob("*/env/SCRIPTED_KEY")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert scene.environment(scene.ann)["SCRIPTED_KEY"] == "anns-key-0123456789"
    assert "anns-key-0123456789" not in scene.environment(scene.bob).values()
    assert scene.availability(scene.ann, "env")["status"] == "ready"


@pytest.mark.parametrize("name", ["../../escape", "AGUI_GATEWAY_TOKEN_FILE", "A B", ""])
def test_a_secret_has_the_name_of_a_variable(scene: Scene, name: str) -> None:
    refused = login(scene, "ann", "--secret", name, stdin="x")
    assert refused.returncode == 2, refused.stdout


def test_a_principals_name_leads_to_no_other_directory(scene: Scene) -> None:
    for name in ("../bob", "/etc", "..", "a\nb"):
        assert login(scene, name, "--secret", "SCRIPTED_KEY", stdin="x").returncode == 0
    assert all(path.parent == scene.homes for path in scene.homes.iterdir())
    assert not (scene.homes.parent / "bob").exists()


def test_two_principals_never_share_a_process(scene: Scene) -> None:
    pids = set()
    for caller in (scene.ann, scene.bob):
        caller.say("full", "hello", f"{caller.name}-1")
        pids.add(pid_of(caller.session("full", f"{caller.name}-1")))
    assert len(pids) == 2
    scene.ann.say("full", "hello", "ann-2")
    assert pid_of(scene.ann.session("full", "ann-2")) in pids


def test_without_tokens_the_person_at_the_machine_keeps_the_usual_home(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "gateway", credentials="principal", homes=tmp_path / "homes")
    text = {"dialect": "text", "process": "turn", "transport": "stdio-raw"}
    stage.agent("env", driver="cli", command={"run": [sys.executable, "-c", ENVIRONMENT]}, cli=text)
    with stage:
        response = stage.post("env", run_input("show"))
        assert response.status_code == 200, response.text
        assert str(tmp_path / "homes") not in response.text
    assert not (tmp_path / "homes").exists()


def test_secrets_can_be_mounted_for_each_principal(tmp_path: Path) -> None:
    mounted = tmp_path / "secrets"
    (mounted / "ann").mkdir(parents=True)
    (mounted / "ann" / "SCRIPTED_KEY").write_text("mounted-key-0123456789\n")
    settings = {"homes": tmp_path / "homes", "credentials_dir": mounted}
    tokens = write_tokens(tmp_path / "tokens", ("ann", "bob"))
    stage = Stage(tmp_path / "gateway", "--token-file", str(tokens), **settings)
    text = {"dialect": "text", "process": "turn", "transport": "stdio-raw"}
    command = {"run": [sys.executable, "-c", ENVIRONMENT], "inherit_env": ["SCRIPTED_KEY"]}
    stage.agent("env", driver="cli", command=command, cli=text, credentials="principal")
    with stage, principals(stage, "ann", "bob") as people:
        keys = [json.loads(caller.say("env", "show", "t")).get("SCRIPTED_KEY") for caller in people]
    assert keys == ["mounted-key-0123456789", None]


SEARCH = """
import os, sys
asked = sys.stdin.readline().strip()
found = [os.path.join(folder, name) for folder, _, names in os.walk(asked) for name in names]
print(found)
"""


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
@pytest.mark.parametrize(("sandbox", "seen"), [("none", 2), ("bubblewrap", 0)])
def test_in_the_sandbox_an_agent_does_not_see_the_home_of_another_principal(
    tmp_path: Path, sandbox: str, seen: int
) -> None:
    """Agents of all principals run as one user of the system, so only a sandbox keeps a hostile one out."""
    homes = tmp_path / "homes"
    for name in ("ann", "bob"):
        PrincipalHomes(Settings(homes=homes, credentials="principal")).open(name).save_secret("SCRIPTED_KEY", name)
    tokens = write_tokens(tmp_path / "tokens", ("ann", "bob"))
    settings = {"credentials": "principal", "homes": homes, "sandbox": sandbox}
    stage = Stage(tmp_path / "gateway", "--token-file", str(tokens), **settings)
    text = {"dialect": "text", "process": "turn", "transport": "stdio-raw"}
    stage.agent("search", driver="cli", command={"run": [sys.executable, "-c", SEARCH]}, cli=text)
    with stage, principals(stage, "bob") as [bob]:
        assert bob.say("search", str(homes), "t1").count("SCRIPTED_KEY") == seen
