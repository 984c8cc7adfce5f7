"""`module:name` → the object it names. A module beside the agent's file comes before any that is installed."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from gateway.errors import ConfigError


def load_entry(entry: str, source: Path) -> Any:
    """`source` is the agent's file, named in errors and looked beside."""
    module_name, _, name = entry.partition(":")
    try:
        found: Any = _beside(module_name, source.parent) or importlib.import_module(module_name)
    except ConfigError:
        raise
    except (Exception, SystemExit) as exc:  # whatever an author's module raises while it is imported
        raise ConfigError(f"{source}: entry: importing {module_name!r} failed: {type(exc).__name__}: {exc}") from exc
    for part in name.split("."):
        if not hasattr(found, part):
            raise ConfigError(f"{source}: entry: {module_name!r} has no {name!r}")
        found = getattr(found, part)
    return found


def _beside(module_name: str, folder: Path) -> ModuleType | None:
    """`NAME.py` or `NAME/__init__.py` in the folder, imported under a name of its own so that it hides nothing."""
    head, *rest = module_name.split(".")
    for path in (folder / f"{head}.py", folder / head / "__init__.py"):
        if path.is_file():
            break
    else:
        return None
    own_name = f"agui_gateway_agent_{abs(hash(str(path))):x}_{head}"
    module = sys.modules.get(own_name) or _load(own_name, path)
    return importlib.import_module(".".join([own_name, *rest])) if rest else module


def _load(name: str, path: Path) -> ModuleType:
    locations = [str(path.parent)] if path.name == "__init__.py" else None
    spec = importlib.util.spec_from_file_location(name, path, submodule_search_locations=locations)
    if spec is None or spec.loader is None:
        raise ConfigError(f"{path}: not a Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
