"""The container without Docker: the Dockerfile's steps are carried out by hand, and what they make is started."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.supply.test_locks import pins, required
from tests.support.gateway import events_of, run_input, text_of
from tests.support.image import build, container_env, ignored, placed, read_steps, settle
from tests.support.project import ROOT, START_LIMIT, Served, files, made_once, serving
from tests.support.routes import endpoints

DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")
STEPS = read_steps(DOCKERFILE)
IMAGE = settle(STEPS)
IGNORED = (ROOT / ".dockerignore").read_text("utf-8").split()
TOKEN = "0123456789abcdef-this-is-a-test"


def make(folder: Path) -> None:
    for path in files():
        if not ignored(path, IGNORED):
            (folder / "context" / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / path, folder / "context" / path)
    build(STEPS, folder, folder / "context")


@dataclass(frozen=True, slots=True)
class Container:
    """One `docker run`, with volumes of its own."""

    root: Path
    mounts: dict[str, Path]

    @property
    def env(self) -> dict[str, str]:
        return container_env(IMAGE, self.root, self.mounts)

    @property
    def token_file(self) -> Path:
        return Path(self.env["AGUI_GATEWAY_TOKEN_FILE"])

    @property
    def workdir(self) -> Path:
        return Path(placed(IMAGE.workdir, self.root, self.mounts))

    @contextmanager
    def started(self) -> Iterator[Served]:
        self.token_file.write_text(f"{TOKEN}\n")
        self.token_file.chmod(0o600)
        # The image's own port may be taken on this machine.
        with serving(IMAGE.entrypoint, self.workdir, self.env | {"AGUI_GATEWAY_PORT": "0"}) as served:
            yield served

    def healthy(self, port: int) -> bool:
        env = self.env | {"AGUI_GATEWAY_PORT": str(port)}
        done = subprocess.run(IMAGE.healthcheck, cwd=self.workdir, env=env, capture_output=True, timeout=START_LIMIT)
        return done.returncode == 0


@pytest.fixture
def container(tmp_path_factory: pytest.TempPathFactory, tmp_path: Path) -> Container:
    folder = made_once(tmp_path_factory, "docker", make)
    mounts = {"/data": tmp_path / "data", "/workspace": tmp_path / "workspace", "/run/secrets": tmp_path / "secrets"}
    for mount in mounts.values():
        mount.mkdir()
    return Container(folder / "image", mounts)


# -- what it says


def test_every_stage_stands_on_one_slim_python_by_its_digest() -> None:
    bases = [step.rest.split()[0] for step in STEPS if step.name == "FROM"]
    assert len(set(bases)) == 1
    pinned = re.fullmatch(r"python:(\d+)\.(\d+)-slim@sha256:[0-9a-f]{64}", bases[0])
    assert pinned is not None
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["requires-python"]
    assert (int(pinned[1]), int(pinned[2])) >= tuple(int(part) for part in wanted.removeprefix(">=").split("."))


def test_it_runs_as_a_user_other_than_root_who_owns_the_data() -> None:
    user = re.fullmatch(r"(\d+):(\d+)", IMAGE.user)
    assert user is not None
    assert "0" not in user.groups()
    made = next(step.rest for step in STEPS if " /data" in step.rest)
    assert f"-m 0700 -o {user[1]} -g {user[2]} /data /workspace" in made
    assert IMAGE.volumes == ("/data", "/workspace")


def test_the_workspace_is_a_volume_of_its_own_without_the_gateways_files() -> None:
    workspace = Path(IMAGE.env["AGUI_GATEWAY_WORKSPACE"])
    assert str(workspace) in IMAGE.volumes
    own = [IMAGE.env["HOME"], IMAGE.env["AGUI_GATEWAY_TOKEN_FILE"], IMAGE.env["AGUI_GATEWAY_STORE"][len("sqlite://") :]]
    assert not any(workspace == Path(path) or workspace in Path(path).parents for path in own)


def test_no_secret_is_built_in() -> None:
    secret = [name for name in IMAGE.env if re.search("TOKEN|SECRET|KEY|PASSWORD", name)]
    assert secret == ["AGUI_GATEWAY_TOKEN_FILE"]
    assert IMAGE.env["AGUI_GATEWAY_TOKEN_FILE"].startswith("/run/secrets/")
    assert not any(step.name == "ARG" for step in STEPS)


def test_the_command_at_its_top_fits_what_it_says_below() -> None:
    command = DOCKERFILE.partition("docker run")[2].partition(" agui-gateway\n")[0]
    port = IMAGE.env["AGUI_GATEWAY_PORT"]
    assert IMAGE.exposed == (port,)
    assert f"-p {port}:{port}" in command
    assert f":{IMAGE.env['AGUI_GATEWAY_TOKEN_FILE']}:ro" in command
    assert all(f":{volume} " in command for volume in IMAGE.volumes)
    assert IMAGE.env["AGUI_GATEWAY_STORE"].startswith(f"sqlite://{IMAGE.volumes[0]}/")


@pytest.mark.parametrize("name", [".git/HEAD", ".venv/bin/python", "gateway/__pycache__/cli.pyc", "tests/conftest.py"])
def test_what_is_no_part_of_the_image_is_not_even_sent_to_the_builder(name: str) -> None:
    assert ignored(Path(name), IGNORED)


@pytest.mark.parametrize("name", ["gateway/cli.py", "agents/echo.toml", "README.md", ".gitignore"])
def test_the_builder_gets_the_rest(name: str) -> None:
    assert not ignored(Path(name), IGNORED)


# -- what it does


def test_without_its_token_file_it_refuses_and_says_what_to_do(container: Container) -> None:
    done = subprocess.run(
        IMAGE.entrypoint, cwd=container.workdir, env=container.env, capture_output=True, text=True, timeout=START_LIMIT
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert str(container.token_file) in done.stderr
    assert "agui-gateway token add NAME --file" in done.stderr


def test_it_listens_on_every_address_and_keeps_its_store_in_the_volume(container: Container) -> None:
    with container.started() as served:
        port = httpx.URL(served.url).port
        # Only a server that listens on every address is met at this one.
        assert httpx.get(f"http://127.0.0.2:{port}/healthz", trust_env=False).status_code == 200
        assert (container.mounts["/data"] / "gateway.db").is_file()


def test_everything_but_its_health_and_the_consoles_files_needs_the_token(container: Container) -> None:
    with container.started() as served, httpx.Client(base_url=served.url, trust_env=False, timeout=30) as client:
        paths = [(method, re.sub(r"\{.*?\}", "echo", path)) for method, path in endpoints() if method != "WS"]
        answers = {(method, path): client.request(method, path) for method, path in paths}
        unknown = client.get("/agents", headers={"authorization": "Bearer not-the-token-0123456789"})
    opened = {path for (_, path), answer in answers.items() if answer.status_code != 401}
    assert opened == {"/healthz", "/readyz", "/console/echo"}
    closed = [answer for answer in (*answers.values(), unknown) if answer.status_code == 401]
    assert len(closed) > 10
    assert {answer.headers["content-type"] for answer in closed} == {"application/problem+json"}


def test_with_the_token_it_runs_an_agent(container: Container) -> None:
    headers = {"authorization": f"Bearer {TOKEN}"}
    with container.started() as served:
        answer = httpx.post(f"{served.url}/agents/echo", json=run_input("Hello"), headers=headers, trust_env=False)
    assert text_of(events_of(answer.text)) == "Hello "


def test_its_health_check_knows_a_gateway_that_runs_from_one_that_does_not(container: Container) -> None:
    with container.started() as served:
        port = httpx.URL(served.url).port
        assert port is not None
        assert container.healthy(port)
    assert not container.healthy(port)


def test_it_runs_where_only_its_volumes_and_temporary_files_are_writable(container: Container) -> None:
    """As with `docker run --read-only --tmpfs /tmp`, by bubblewrap."""
    if shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed")
    volumes = [part for mount in container.mounts.values() for part in ("--bind", str(mount), str(mount))]
    flags = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"]
    flags += ["--ro-bind", str(container.root), str(container.root), *volumes, "--die-with-parent"]
    container.token_file.write_text(f"{TOKEN}\n")
    container.token_file.chmod(0o600)
    command = ["bwrap", *flags, "--chdir", str(container.workdir), *IMAGE.entrypoint]
    with serving(command, container.workdir, container.env | {"AGUI_GATEWAY_PORT": "0"}) as served:
        headers = {"authorization": f"Bearer {TOKEN}"}
        answer = httpx.post(f"{served.url}/agents/echo", json=run_input("Hello"), headers=headers, trust_env=False)
    assert text_of(events_of(answer.text)) == "Hello "
    assert (container.mounts["/data"] / "gateway.db").is_file()


def test_it_lists_its_parts_and_they_are_those_of_the_lock(container: Container) -> None:
    sbom = json.loads((container.root / "usr/share/doc/agui-gateway/sbom.cdx.json").read_text("utf-8"))
    assert (sbom["bomFormat"], sbom["metadata"]["component"]["name"]) == ("CycloneDX", "agui-gateway")
    parts = {canonicalize_name(part["name"]): Version(part["version"]) for part in sbom["components"]}
    locked = pins("image")
    assert parts.pop(canonicalize_name("agui-gateway"), None) in (
        None,
        Version(sbom["metadata"]["component"]["version"]),
    )
    assert {name: version for name, version in parts.items() if version not in locked.get(name, ())} == {}
    direct = {
        canonicalize_name(each.name) for each in required("image") if each.marker is None or each.marker.evaluate()
    }
    assert direct <= set(parts)
    assert "pip" not in parts


def test_its_data_folder_is_closed_to_others(container: Container) -> None:
    assert (container.root / "data").stat().st_mode & 0o777 == 0o700
