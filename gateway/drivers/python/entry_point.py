"""`module:name` → the object it names. A module beside the agent's file is preferred to an installed one."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from gateway.errors import ConfigError


def load_entry(entry: str, source: Path) -> Any:
    """`source`: the agent's file. Modules beside it are found, and errors name it. Raises `ConfigError`."""
    module_name, _, name = entry.partition(":")
    try:
        target: Any = _import_beside(module_name, source.parent) or importlib.import_module(module_name)
    except ConfigError:
        raise
    except (Exception, SystemExit) as exc:  # an author's module may raise anything while it is imported
        raise ConfigError(f"{source}: entry: importing {module_name!r} failed: {type(exc).__name__}: {exc}") from exc
    for part in name.split("."):
        if not hasattr(target, part):
            raise ConfigError(f"{source}: entry: {module_name!r} has no {name!r}")
        target = getattr(target, part)
    return target


def _import_beside(module_name: str, folder: Path) -> ModuleType | None:
    """`NAME.py` or `NAME/__init__.py` in the folder, imported under a private name so that it hides no other module."""
    head, *rest = module_name.split(".")
    for path in (folder / f"{head}.py", folder / head / "__init__.py"):
        if path.is_file():
            break
    else:
        return None
    private_name = f"agui_gateway_agent_{abs(hash(str(path))):x}_{head}"
    module = sys.modules.get(private_name) or _load(private_name, path)
    return importlib.import_module(".".join([private_name, *rest])) if rest else module


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
