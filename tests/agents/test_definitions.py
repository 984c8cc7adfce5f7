"""The bundled agent files: each is complete and consistent."""

from __future__ import annotations

import re

import pytest

from gateway.catalog.capability_table import camel
from gateway.catalog.definition import AgentDefinition
from gateway.catalog.load import bundled, load_folder
from gateway.catalog.options import declared_options
from gateway.catalog.transports import link_transports, list_transports
from gateway.turn import Options
from tests.live.recipes import load_recipes

CATALOG = link_transports(load_folder(bundled()))
REAL = [definition for definition in CATALOG.values() if definition.command is not None]
"""Agents that are programs."""
MUX_AGENTS = {"claude", "codex", "copilot", "cursor", "gemini", "hermes", "omp", "openclaw", "opencode", "pi"}
"""The agents of agent-mux."""
UNVERIFIED = {"cursor"}
"""It could not be installed where the files were verified, so its file has no `verified`."""

every = pytest.mark.parametrize("definition", CATALOG.values(), ids=list(CATALOG))
every_real = pytest.mark.parametrize("definition", REAL, ids=[definition.id for definition in REAL])
every_mux_agent = pytest.mark.parametrize("name", sorted(MUX_AGENTS))


def test_every_agent_that_is_a_program_has_a_live_recipe_or_is_unverified() -> None:
    assert {definition.id for definition in REAL} == set(load_recipes().agents) | UNVERIFIED
    assert len([definition for definition in REAL if definition.id not in MUX_AGENTS]) == 17
    assert set(CATALOG) >= MUX_AGENTS


@every_mux_agent
def test_agents_of_agent_mux_have_models_a_manifest_and_a_fallback(name: str) -> None:
    definition = CATALOG[name]
    assert len(list_transports(definition)) > 1
    assert definition.models, "with prices, windows and efforts where they are known"
    assert len([model for model in definition.models if model.default]) <= 1
    assert definition.manifest.session_persistence and definition.manifest.supported_platforms


@every_mux_agent
def test_successors_and_defaults_are_known_models(name: str) -> None:
    models = CATALOG[name].models
    ids = {model.id for model in models}
    assert len(ids) == len(models)
    assert {model.successor for model in models if model.successor} <= ids


@every_real
def test_a_model_without_a_price_has_a_reason(definition: AgentDefinition) -> None:
    unpriced = [model.id for model in definition.models if model.price.input is None or model.price.output is None]
    assert not unpriced or definition.price_note, unpriced


@every
def test_a_file_has_its_agents_name(definition: AgentDefinition) -> None:
    assert definition.source.name == f"{definition.id}.toml"


@every_real
def test_an_agent_has_an_identity(definition: AgentDefinition) -> None:
    identity = definition.identity
    assert identity.name and identity.provider
    assert identity.description is not None and identity.description.endswith(".")
    assert identity.documentation_url is not None and identity.documentation_url.startswith("https://")
    assert definition.sources and all(source.startswith("https://") for source in definition.sources)


@every_real
def test_an_agent_has_install_methods_with_the_verified_version(definition: AgentDefinition) -> None:
    assert definition.install
    pinned = [way.version for way in definition.install if way.kind in ("npm", "uv", "pip")]
    assert all(pinned)
    assert bool(pinned) is (definition.id not in UNVERIFIED)


@every_real
def test_an_agent_has_a_date_of_verification_unless_unverified(definition: AgentDefinition) -> None:
    if definition.id in UNVERIFIED:
        assert definition.verified is None
    else:
        assert definition.verified is not None


@every_real
def test_an_agent_states_how_to_sign_in_or_that_none_is_needed(definition: AgentDefinition) -> None:
    kinds = [sign.kind for sign in definition.auth]
    assert kinds
    if kinds != ["none"]:
        assert "none" not in kinds
        # The first hint is the one that users see.
        assert definition.auth[0].hint is not None and not definition.auth[0].hint.endswith(".")


@every_real
def test_every_sign_in_check_has_what_it_needs(definition: AgentDefinition) -> None:
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


@every_real
def test_an_agent_inherits_names_and_never_values(definition: AgentDefinition) -> None:
    assert definition.command is not None
    assert all(re.fullmatch(r"[A-Z][A-Z0-9_]*\*?", name) for name in definition.command.inherit_env)
    secret = re.compile(r"KEY|TOKEN|SECRET|PASSW")
    generated = "{token}"  # by the gateway, for one process
    assert not [name for name, value in definition.command.env.items() if secret.search(name) and value != generated]


@every_real
def test_an_agent_takes_only_options_that_exist(definition: AgentDefinition) -> None:
    assert set(declared_options(definition)) <= {camel(name) for name in Options.__dataclass_fields__}


@every_real
def test_patterns_of_errors_are_regular_expressions(definition: AgentDefinition) -> None:
    for pattern in (
        *definition.acp.error_text_patterns,
        *(definition.cli.error_text_patterns if definition.cli else ()),
    ):
        assert re.compile(pattern).search("You said: hello") is None


@every_real
def test_an_agent_with_the_option_approvals_asks_for_them(definition: AgentDefinition) -> None:
    asks = definition.capabilities.get("humanInTheLoop", {}).get("approvals")
    if asks is not None:
        assert asks is ("approvals" in declared_options(definition))


def inherits(definition: AgentDefinition, name: str) -> bool:
    assert definition.command is not None
    return any(
        name == known or (known.endswith("*") and name.startswith(known[:-1]))
        for known in definition.command.inherit_env
    )
