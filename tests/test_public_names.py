"""What other programs may import."""

from __future__ import annotations

import inspect
import tomllib

import gateway
from tests.support.project import ROOT


def test_the_public_names_are_these_and_no_others() -> None:
    assert gateway.__all__ == ["GatewayError", "Settings", "__version__", "create_app"]


def test_each_of_them_is_there_and_says_what_it_is() -> None:
    named = [getattr(gateway, name) for name in gateway.__all__ if name != "__version__"]
    assert [inspect.getdoc(found) for found in named if not inspect.getdoc(found)] == []


def test_the_version_is_that_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert gateway.__version__ == project["version"]


def test_an_application_can_be_made_of_nothing_but_them() -> None:
    app = gateway.create_app(gateway.Settings(store="memory:"))
    assert app.routes
