"""What is installed is exactly what was pinned, from whatever registry the reader has."""

from __future__ import annotations

import json
import re
from typing import Any

from tests.clients.install import HERE, LOCKFILE, install

EXACT = re.compile(r"(npm:@ag-ui/[a-z]+@)?\d+\.\d+\.\d+")


def lock() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(LOCKFILE.read_text())
    return found


def test_the_lockfile_names_no_registry_and_checks_every_package() -> None:
    packages = {name: package for name, package in lock()["packages"].items() if name}
    assert len(packages) > 20
    assert [name for name, package in packages.items() if "resolved" in package] == []
    assert [name for name, package in packages.items() if "integrity" not in package] == []


def test_every_client_is_pinned_exactly() -> None:
    wanted = json.loads((HERE / "package.json").read_text())["dependencies"]
    assert lock()["packages"][""]["dependencies"] == wanted
    assert [name for name, version in wanted.items() if not EXACT.fullmatch(version)] == []
    copilotkit = lock()["packages"]["node_modules/@copilotkit/core/node_modules/@ag-ui/client"]
    assert copilotkit["version"] == lock()["packages"]["node_modules/ag-ui-client-0"]["version"] == "0.0.59"


def test_what_is_installed_is_not_installed_again(node_modules: None) -> None:
    assert install() is False
