"""The stage: every client has all its talks with one gateway, in one Node process, the first time one is asked for."""

from __future__ import annotations

import os

import pytest

from tests.clients.install import NoNode, install
from tests.clients.node import Talk, play
from tests.clients.scenarios import Client, talks_for
from tests.support.gateway import Gateway


class Stage:
    def __init__(self, url: str) -> None:
        self.url = url
        self._played: dict[Client, dict[str, Talk]] = {}

    def talk(self, client: Client, name: str) -> Talk:
        if client not in self._played:
            talks = talks_for(client)
            self._played[client] = dict(zip(talks, play(client.script, self.url, list(talks.values())), strict=True))
        return self._played[client][name]


@pytest.fixture(scope="session")
def node_modules() -> None:
    """Without Node these tests say nothing about the gateway. On a build server that is an error, not an excuse."""
    try:
        install()
    except NoNode as exc:
        if os.environ.get("CI"):
            pytest.fail(str(exc))
        pytest.skip(f"THE OFFICIAL CLIENTS WERE NOT RUN: {exc}")


@pytest.fixture(scope="session")
def stage(node_modules: None, gateway: Gateway) -> Stage:
    return Stage(gateway.url)
