"""A Dockerfile carried out by hand: its own steps, in its own order, in a folder that stands for the image's root.

In: the Dockerfile's text and the project's files. Out: that folder, and an `Image` that says how to run it. The image's
folders are found by rewriting paths in commands and in the environment. Three things are not the image's: the base is
this machine, its `python` the one that runs the tests, and the user whoever runs them. An instruction that is not known
here is an error, and so is a command that would touch a folder outside.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath

from tests.support.project import INSTALL_LIMIT, environ, run

FOLDERS = re.compile(r"(?<![\w.-])/(?:src|opt|data|workspace|run/secrets|usr/local/bin|usr/share/doc)(?![\w-])")
BASE_ENV = {"PATH": "/usr/local/bin:/usr/bin:/bin"}
"""As in the official Python images."""
OWNER = re.compile(r"-o \d+ -g \d+")


@dataclass(frozen=True, slots=True)
class Step:
    name: str
    rest: str


@dataclass(frozen=True, slots=True)
class Image:
    """What an image says of itself, in its own paths."""

    base: str = ""
    env: Mapping[str, str] = field(default_factory=lambda: dict(BASE_ENV))
    workdir: str = "/"
    user: str = "root"
    volumes: tuple[str, ...] = ()
    exposed: tuple[str, ...] = ()
    healthcheck: tuple[str, ...] = ()
    entrypoint: tuple[str, ...] = ()


def read_steps(text: str) -> list[Step]:
    """One per instruction: comments left out, continued lines joined."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    return [Step(name, rest) for name, _, rest in (line.partition(" ") for line in joined.splitlines())]


def settle(steps: Sequence[Step]) -> Image:
    """How things stand after these steps."""
    image = Image()
    for step in steps:
        image = _after(image, step)
    return image


def _after(image: Image, step: Step) -> Image:
    match step.name:
        case "FROM":
            return Image(base=step.rest.split()[0])
        case "ENV":
            return replace(image, env={**image.env, **_assignments(step.rest, image.env)})
        case "WORKDIR":
            return replace(image, workdir=step.rest)
        case "USER":
            return replace(image, user=step.rest)
        case "VOLUME":
            return replace(image, volumes=(*image.volumes, *step.rest.split()))
        case "EXPOSE":
            return replace(image, exposed=(*image.exposed, *step.rest.split()))
        case "HEALTHCHECK":
            return replace(image, healthcheck=tuple(json.loads(step.rest.partition(" CMD ")[2])))
        case "ENTRYPOINT":
            return replace(image, entrypoint=tuple(json.loads(step.rest)))
        case "COPY" | "RUN":
            return image  # these change the files only
        case other:
            raise AssertionError(f"{other} is not known here: teach it to {Path(__file__).name}")


def _assignments(rest: str, known: Mapping[str, str]) -> dict[str, str]:
    pairs = (word.partition("=") for word in shlex.split(rest))
    return {name: re.sub(r"\$(\w+)", lambda found: known[found[1]], value) for name, _, value in pairs}


def placed(text: str, root: Path, mounts: Mapping[str, Path] | None = None) -> str:
    """The text with the image's folders where they really are. A mount lies over the image's own."""
    return FOLDERS.sub(lambda found: str((mounts or {}).get(found[0], root / found[0][1:])), text)


def container_env(image: Image, root: Path, mounts: Mapping[str, Path] | None = None) -> dict[str, str]:
    """The image's environment and nothing else, but for what this machine's Python may need to be found."""
    own = {name: placed(value, root, mounts) for name, value in image.env.items()}
    return own | {name: value for name, value in os.environ.items() if name == "LD_LIBRARY_PATH"}


def build(steps: Sequence[Step], folder: Path, context: Path) -> Path:
    """The image's root. Every stage is made at the same place, for a virtual environment cannot be moved."""
    root, stages = folder / "image", dict[str, Path]()
    for number, step in enumerate(steps):
        image = settle(steps[: number + 1])
        match step.name:
            case "FROM":
                if root.exists():
                    [finished] = [name for name in _stage_names(steps[:number]) if name not in stages]
                    stages[finished] = root.rename(folder / f"stage-{finished}")
                _lay_base(root)
            case "WORKDIR":
                Path(placed(step.rest, root)).mkdir(parents=True, exist_ok=True)
            case "COPY":
                _copy(step.rest, image, root, {"": context, **stages})
            case "RUN":
                _run(step.rest, image, root)
    for left in stages.values():
        shutil.rmtree(left)
    return root


def _stage_names(steps: Sequence[Step]) -> list[str]:
    return [step.rest.partition(" AS ")[2] for step in steps if step.name == "FROM"]


def _lay_base(root: Path) -> None:
    python = root / "usr" / "local" / "bin" / "python"
    python.parent.mkdir(parents=True)
    # Not a link: through one, a Python of a virtual environment no longer finds it.
    python.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n')
    python.chmod(0o755)


def _copy(rest: str, image: Image, root: Path, sources: Mapping[str, Path]) -> None:
    words = rest.split()
    stage = words.pop(0).removeprefix("--from=") if words[0].startswith("--from=") else ""
    *names, last = words
    target = Path(placed(str(PurePosixPath(image.workdir) / last), root))
    for name in names:
        source = sources[stage] / name.lstrip("/")
        if source.is_dir():
            shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target / source.name if last.endswith("/") else target)


def _run(command: str, image: Image, root: Path) -> None:
    there = OWNER.sub(f"-o {os.getuid()} -g {os.getgid()}", placed(command, root))
    # The cache would be a part of the image. Here it is the machine's own, and spares a download at every test.
    there = there.replace(" --no-cache-dir", "")
    outside = [word for word in shlex.split(there) if word.startswith("/") and not Path(word).is_relative_to(root)]
    assert outside == [], f"{outside}: a folder that is not known here; add it to FOLDERS"
    env = environ(root / "data") | container_env(image, root)
    run(["sh", "-c", there], Path(placed(image.workdir, root)), env, INSTALL_LIMIT)


def ignored(path: Path, patterns: Sequence[str]) -> bool:
    """Whether .dockerignore keeps the file out of the build."""
    whole = [str(part) for part in (path, *path.parents)]
    return any(
        any(fnmatch(part, pattern.removeprefix("**/")) for part in (path.parts if "**/" in pattern else whole))
        for pattern in patterns
    )
