"""Skills that a run names: a path is loaded, a name is a skill that the agent has."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.drivers.skills import Skill, add_to_prompt, find_skills
from gateway.errors import BadInput
from tests.live.option_checks import write_skill

HELLO = {"type": "text", "text": "hello"}
MENTION = "Use the skill {name}."


def test_a_path_is_a_directory_to_load_under_the_name_in_its_file(tmp_path: Path) -> None:
    folder = write_skill(tmp_path / "kit" / "otter", "otter-care", "Feed it.")
    expected = (Skill("otter-care", str(folder)),)
    for entry in ("kit/otter", "./kit/otter", str(folder), "kit/otter/SKILL.md"):
        assert find_skills([entry], tmp_path) == expected, entry
    assert find_skills(["~/kit/otter"], Path("/"), home=tmp_path) == expected


def test_a_directory_with_several_skills_can_be_loaded(tmp_path: Path) -> None:
    write_skill(tmp_path / "kit" / "otter", "otter-care", "Feed it.")
    [skill] = find_skills(["./kit"], tmp_path)
    assert skill == Skill("kit", str(tmp_path / "kit"))
    assert "Feed it." in add_to_prompt([HELLO], [skill], MENTION)[0]["text"]


def test_a_name_is_a_skill_of_the_agents_own(tmp_path: Path) -> None:
    (tmp_path / "deep-research").mkdir()  # a directory without a skill does not stand in its way
    assert find_skills(["deep-research"], tmp_path) == (Skill("deep-research"),)


def test_a_name_that_is_a_skill_in_the_working_directory_is_loaded(tmp_path: Path) -> None:
    folder = write_skill(tmp_path / "otter", "otter", "Feed it.")
    assert find_skills(["otter"], tmp_path) == (Skill("otter", str(folder)),)


@pytest.mark.parametrize("entry", ["kit/none", "./none", "/no/such/skill", "~/none"])
def test_a_path_without_a_skill_is_refused(entry: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="there is no skill at") as refusal:
        find_skills(["deep-research", entry], tmp_path, home=tmp_path)
    assert refusal.value.extra["pointer"] == "/forwardedProps/gateway/skills/1"


def test_a_sandboxed_agent_gets_a_copy(tmp_path: Path) -> None:
    write_skill(tmp_path / "otter", "otter", "Feed it.")
    [skill] = find_skills(["otter"], tmp_path, copy=lambda folder: Path("/exchange") / folder.name)
    assert skill.folder == "/exchange/otter"


def test_instructions_come_before_the_prompt_and_a_mention_at_its_start(tmp_path: Path) -> None:
    folder = write_skill(tmp_path / "otter", "otter-care", "Feed it.")
    skills = [Skill("otter-care", str(folder)), Skill("beaver")]
    image = {"type": "image", "data": "", "mimeType": "image/png"}
    instructions, first, second = add_to_prompt([image, HELLO], skills[:1], MENTION)
    assert "otter-care" in instructions["text"] and "Feed it." in instructions["text"]
    assert "description:" not in instructions["text"], "the file's head is for the agent's own list"
    assert (first, second) == (image, HELLO)
    assert add_to_prompt([image, HELLO], skills[1:], MENTION) == [
        image,
        {"type": "text", "text": "Use the skill beaver.\n\nhello"},
    ]
    assert add_to_prompt([image], skills[1:], "/{name}")[0] == {"type": "text", "text": "/beaver"}
