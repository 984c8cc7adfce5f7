"""The agents that come along, as files: each is complete, and says of itself only what can be true."""

from __future__ import annotations

import re

import pytest

from gateway.catalog.definition import AgentDefinition
from gateway.catalog.load import bundled, load_folder
from gateway.catalog.tree import camel
from gateway.turn import Options
from tests.live.recipes import load_recipes

CATALOG = load_folder(bundled())
ACP = [definition for definition in CATALOG.values() if definition.driver == "acp"]
UNTRIED = {"goose"}
"""There is no way to install it where the files were checked; its file says so."""

every = pytest.mark.parametrize("definition", CATALOG.values(), ids=list(CATALOG))
every_acp = pytest.mark.parametrize("definition", ACP, ids=[definition.id for definition in ACP])


def test_all_the_known_agents_that_speak_acp_are_there() -> None:
    assert {definition.id for definition in ACP} == set(load_recipes().agents) | UNTRIED
    assert len(ACP) == 17


@every
def test_a_file_has_its_agents_name(definition: AgentDefinition) -> None:
    assert definition.source.name == f"{definition.id}.toml"


@every_acp
def test_an_agent_tells_people_what_it_is(definition: AgentDefinition) -> None:
    identity = definition.identity
    assert identity.name and identity.provider
    assert identity.description is not None and identity.description.endswith(".")
    assert identity.documentation_url is not None and identity.documentation_url.startswith("https://")
    assert definition.sources and all(source.startswith("https://") for source in definition.sources)


@every_acp
def test_an_agent_says_how_to_get_it_and_which_version_was_tried(definition: AgentDefinition) -> None:
    assert definition.install
    pinned = [way.version for way in definition.install if way.kind in ("npm", "uv", "pip")]
    assert all(pinned)
    assert bool(pinned) is (definition.id not in UNTRIED)


@every_acp
def test_an_agent_was_held_against_the_real_one_or_does_not_claim_so(definition: AgentDefinition) -> None:
    if definition.id in UNTRIED:
        assert definition.checked is None
    else:
        assert definition.checked is not None


@every_acp
def test_an_agent_says_how_to_sign_in_or_that_none_is_needed(definition: AgentDefinition) -> None:
    kinds = [sign.kind for sign in definition.auth]
    assert kinds
    if kinds != ["none"]:
        assert "none" not in kinds
        # The first hint is the one that people are shown.
        assert definition.auth[0].hint is not None and not definition.auth[0].hint.endswith(".")


@every_acp
def test_every_sign_of_being_signed_in_has_what_it_needs(definition: AgentDefinition) -> None:
    for sign in definition.auth:
        match sign.kind:
            case "env":
                assert sign.name is not None and inherits(definition, sign.name)
            case "file":
                assert sign.name is not None and sign.name.startswith("~/")
            case "command":
                assert sign.run
            case "none":
                assert sign.name is None and not sign.run


@every_acp
def test_an_agent_inherits_names_and_never_values(definition: AgentDefinition) -> None:
    assert definition.command is not None
    assert all(re.fullmatch(r"[A-Z][A-Z0-9_]*\*?", name) for name in definition.command.inherit)
    secret = re.compile(r"KEY|TOKEN|SECRET|PASSW")
    assert not [name for name in definition.command.env if secret.search(name)]


@every_acp
def test_an_agent_takes_only_wishes_that_there_are(definition: AgentDefinition) -> None:
    assert set(definition.options) <= {camel(name) for name in Options.__dataclass_fields__}


@every_acp
def test_patterns_of_errors_are_regular_expressions(definition: AgentDefinition) -> None:
    for pattern in definition.acp.errors_as_text:
        assert re.compile(pattern).search("You said: hello") is None


@every_acp
def test_who_takes_approvals_as_a_wish_asks_for_them(definition: AgentDefinition) -> None:
    asks = definition.capabilities.get("humanInTheLoop", {}).get("approvals")
    if asks is not None:
        assert asks is ("approvals" in definition.options)


def inherits(definition: AgentDefinition, name: str) -> bool:
    assert definition.command is not None
    return any(
        name == known or (known.endswith("*") and name.startswith(known[:-1])) for known in definition.command.inherit
    )
