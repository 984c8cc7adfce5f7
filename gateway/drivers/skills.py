"""The skills that a run names: found in the file system, or left to the agent.

In: the entries of the option `skills`, and the directory in which the session works. Out: a `Skill` for each entry, and
the text by which a prompt brings skills to an agent that has no switch to load them. A skill is a directory with a file
`SKILL.md` (https://agentskills.io). Never: writes into a skill's directory.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gateway.errors import BadInput

SKILL_FILE = "SKILL.md"
PLUGIN_ENTRIES = (".claude-plugin", ".plugin", "plugin.json", "skills")
"""What a directory that is a plugin has, and so may have several skills."""
MAX_SKILL_BYTES = 256 * 1024
POINTER = "/forwardedProps/gateway/skills"

_FRONT_MATTER = re.compile(r"\A---\r?\n(.*?)\r?\n---[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_NAME = re.compile(r"^name:[ \t]*(['\"]?)(.+?)\1[ \t]*$", re.MULTILINE)

CopyFolder = Callable[[Path], Path]
"""A directory → a copy of it where the agent's process can see it."""


@dataclass(frozen=True, slots=True)
class Skill:
    """One entry of the option."""

    name: str
    folder: str | None = None
    """The directory of the skill, or of several. None: a skill that the agent has, which the turn is to use."""


def find_skills(
    entries: Sequence[str], cwd: Path, home: Path | None = None, copy: CopyFolder | None = None
) -> tuple[Skill, ...]:
    """A path, relative to `cwd`, is a directory to load. Any other entry is the name of a skill that the agent has.
    `home`: for `~`. Raises `BadInput` for a path without a skill."""
    return tuple(_find_skill(entry, number, cwd, home, copy) for number, entry in enumerate(entries))


def _find_skill(entry: str, number: int, cwd: Path, home: Path | None, copy: CopyFolder | None) -> Skill:
    path = cwd / _expand_home(entry, home)
    folder = path.parent if path.name == SKILL_FILE else path
    if _has_skills(folder):
        return Skill(_read_name(folder), str(folder if copy is None else copy(folder)))
    if is_path(entry):
        detail = f"there is no skill at {entry!r}: a skill is a directory with a file {SKILL_FILE}. Correct the path."
        raise BadInput(detail, pointer=f"{POINTER}/{number}")
    return Skill(entry)


def check_paths(entries: Sequence[str], cwd: Path) -> None:
    """Raises `BadInput` for a path without a skill, before a session is opened. `~` is left: whose home it stands for
    is not known then."""
    for number, entry in enumerate(entries):
        if not entry.startswith("~"):
            _find_skill(entry, number, cwd, None, None)


def is_path(entry: str) -> bool:
    return "/" in entry or "\\" in entry or entry.startswith((".", "~"))


def _expand_home(entry: str, home: Path | None) -> Path:
    if entry == "~" or entry.startswith("~/"):
        return (home or Path.home()) / entry[2:]
    return Path(entry)


def _has_skills(folder: Path) -> bool:
    return bool(_list_skill_folders(folder)) or any((folder / name).exists() for name in PLUGIN_ENTRIES)


def _list_skill_folders(folder: Path) -> list[Path]:
    """The directory itself, or those directly in it, or those in its `skills`."""
    if (folder / SKILL_FILE).is_file():
        return [folder]
    files = sorted((*folder.glob(f"*/{SKILL_FILE}"), *folder.glob(f"skills/*/{SKILL_FILE}")))
    return [file.parent for file in files]


def _read_name(folder: Path) -> str:
    """The name by which agents list the skill."""
    head = _FRONT_MATTER.match(_read_file(folder / SKILL_FILE))
    name = _NAME.search(head[1]) if head is not None else None
    return name[2] if name is not None else folder.name


def _read_file(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            return opened.read(MAX_SKILL_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""


# -- skills in a prompt


def add_to_prompt(blocks: Iterable[dict[str, Any]], skills: Sequence[Skill], mention: str) -> list[dict[str, Any]]:
    """The prompt with the instructions of each skill that has a directory, and with a mention of each that the agent
    has. `mention`: what makes this agent use a skill, with `{name}`. Mentions come first in the prompt's text,
    because some agents read them only there."""
    prompt = [_to_block(folder) for skill in skills if skill.folder for folder in _folders_of(skill)] + list(blocks)
    mentions = " ".join(mention.replace("{name}", skill.name) for skill in skills if skill.folder is None)
    if not mentions:
        return prompt
    first = next((index for index, block in enumerate(prompt) if block.get("type") == "text"), None)
    if first is None:
        return [{"type": "text", "text": mentions}, *prompt]
    prompt[first] = {**prompt[first], "text": f"{mentions}\n\n{prompt[first]['text']}"}
    return prompt


def _folders_of(skill: Skill) -> list[Path]:
    return _list_skill_folders(Path(skill.folder or ""))


def _to_block(folder: Path) -> dict[str, Any]:
    content = _read_file(folder / SKILL_FILE)
    instructions = _FRONT_MATTER.sub("", content, count=1).strip()
    head = f"The user loaded the skill {_read_name(folder)!r}. Its directory is {folder}. Follow its instructions:"
    return {"type": "text", "text": f"{head}\n<skill>\n{instructions}\n</skill>"}


def named(skills: Iterable[Skill]) -> tuple[Skill, ...]:
    """Those that the agent has."""
    return tuple(skill for skill in skills if skill.folder is None)


def folders(skills: Iterable[Skill]) -> tuple[str, ...]:
    """The directories to load."""
    return tuple(skill.folder for skill in skills if skill.folder is not None)
