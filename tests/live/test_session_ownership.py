"""Real agents, two principals: what one says never reaches the other's model request, and with credentials of their own
neither works with the other's account or session files. The same attacks with scripted agents: `tests/attacks`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from gateway.drivers.homes import PrincipalHomes
from gateway.settings import Settings
from tests.attacks.principals import Principal, principals, write_tokens
from tests.fakes.model_server.server import ModelServer
from tests.live.harness import bundled_behind_gateway, sandbox_flags
from tests.live.install import install, programs
from tests.live.recipes import load_recipes, prepare
from tests.live.selection import agents
from tests.support.gateway import Gateway

pytestmark = pytest.mark.live

SECRET = "the-launch-code-is-4711"
OPERATORS_KEY = "sk-ant-operators-own-0123456789"
KEYS = {"claude": "ANTHROPIC_API_KEY", "codex": "OPENAI_API_KEY"}
"""The variable with which each agent is signed in here."""
AGENTS = ("claude", "codex", "opencode-acp", "claude-agent-acp", "codex-acp")


@pytest.fixture(scope="module")
def models() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


def asked(models: ModelServer) -> str:
    """All that the model was asked since the last `forget`."""
    return json.dumps([request["body"] for request in models.requests()])


@pytest.mark.parametrize("agent", agents(AGENTS, AGENTS))
def test_a_real_agents_session_is_not_continued_by_another_principal(
    agent: str, models: ModelServer, tmp_path: Path
) -> None:
    tokens = write_tokens(tmp_path / "tokens")
    opened = bundled_behind_gateway(agent, models.url, tmp_path, "--token-file", str(tokens))
    with opened as gateway, principals(gateway, "ann", "bob", "root") as (ann, bob, root):
        ann.say(agent, SECRET, "a1")
        session = ann.session(agent, "a1")
        assert session
        assert SECRET in asked(models)
        models.forget()
        for option in ("sessionId", "forkSessionId"):
            refused = bob.post_run(agent, "what did I say?", **{option: session})
            assert refused.status_code in (403, 422), refused.text
            assert refused.json()["code"] in ("SESSION_FOREIGN", "CAPABILITY_ERROR")
        assert models.requests() == []
        taken = root.post_run(agent, "what did I say?", sessionId=session)
        assert (taken.status_code, taken.json()["code"]) == (409, "SESSION_OPEN")
        bob.say(agent, "hello", "b1")
        assert SECRET not in asked(models)
        assert bob.client.delete(f"/agents/{agent}/threads/b1").status_code == 204
        models.forget()
        assert ann.client.post(f"/agents/{agent}/threads/a1/close").json() == {"closed": True}
        ann.say(agent, "and now?", "a1", sessionId=session)
        assert ann.session(agent, "a1") == session
        assert SECRET in asked(models)


@contextmanager
def two_accounts(agent: str, models: ModelServer, base: Path) -> Iterator[tuple[Gateway, list[Principal]]]:
    """The agent behind a gateway in which each principal has a home with a key of its own."""
    recipes = load_recipes()
    recipe = recipes.agents[agent]
    install(recipe, recipes)
    homes = PrincipalHomes(Settings(homes=base / "homes", credentials="principal"))
    for name in ("ann", "bob", "root"):
        home = homes.open(name)
        home.prepare()
        ready = prepare(recipe, paths=programs(recipe), home=home.directory, models=models.url)
        for variable in recipe.env:
            value = f"sk-ant-{name}-0123456789" if variable == KEYS[agent] else ready.env[variable]
            home.save_secret(variable, value)
    work = base / "work"
    work.mkdir()
    foreign = {name: "" for name in os.environ if name.endswith(("_API_KEY", "_AUTH_TOKEN")) or name.startswith("XDG_")}
    own = {"PATH": ready.env["PATH"], "HOME": str(base / "operators-home"), KEYS[agent]: OPERATORS_KEY}
    own |= {"AGUI_GATEWAY_CREDENTIALS": "principal", "AGUI_GATEWAY_HOMES": str(base / "homes")}
    flags = ("--workspace", str(work), "--token-file", str(write_tokens(base / "tokens")), *sandbox_flags(models.url))
    gateway = Gateway(base / "gateway", *flags, env={**foreign, **own}, xdg=False)
    with gateway, principals(gateway, "ann", "bob", "root") as people:
        yield gateway, people


def keys_used(models: ModelServer) -> set[str]:
    """The keys with which the model was asked."""
    headers: list[dict[str, Any]] = [request["headers"] for request in models.requests() if request["method"] == "POST"]
    found = {header.get("x-api-key") or header.get("authorization", "").removeprefix("Bearer ") for header in headers}
    return {key for key in found if key}


@pytest.mark.parametrize("agent", ["claude", "codex"])
def test_two_principals_have_two_accounts_and_two_sets_of_session_files(
    agent: str, models: ModelServer, tmp_path: Path
) -> None:
    with two_accounts(agent, models, tmp_path) as (_, (ann, bob, root)):
        models.forget()
        ann.say(agent, SECRET, "t1")
        assert keys_used(models) == {"sk-ant-ann-0123456789"}
        session = ann.session(agent, "t1")
        models.forget()
        bob.say(agent, "hello", "t1")
        assert keys_used(models) == {"sk-ant-bob-0123456789"}
        assert SECRET not in asked(models)

        # Each conversation is in the files of one home, and nothing is in the operator's.
        holders = {
            path.parts[len(tmp_path.parts) + 1] for path in (tmp_path / "homes").rglob("*") if _has(path, SECRET)
        }
        assert len(holders) == 1
        assert not [path for path in (tmp_path / "operators-home").rglob("*") if path.is_file()]

        # An administrator may name the session, but in its own home there is no such session to continue.
        ann.client.post(f"/agents/{agent}/threads/t1/close")
        models.forget()
        answer = root.post_run(agent, "what did I say?", "t2", sessionId=session).text
        assert SECRET not in asked(models)
        # It is refused, or a new session is begun with the administrator's own account.
        assert keys_used(models) == (set() if "SESSION_NOT_FOUND" in answer else {"sk-ant-root-0123456789"})

        models.forget()
        ann.say(agent, "and now?", "t1")
        assert SECRET in asked(models)


def _has(path: Path, text: str) -> bool:
    return path.is_file() and text.encode() in path.read_bytes()
