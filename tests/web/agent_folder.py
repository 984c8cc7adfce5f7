"""An agents' folder as a user would write it."""

from __future__ import annotations

from pathlib import Path

TOML = """\
id = "{id}"
driver = "python"
entry = "{module}:agent"
{more}
[identity]
name = "{name}"
"""


def write_agent(folder: Path, id_: str, code: str, *, more: str = "", name: str = "Mine", tables: str = "") -> None:
    """`ID.toml` and, beside it, the module with `agent` in it. `more` are keys, `tables` what follows them."""
    folder.mkdir(parents=True, exist_ok=True)
    module = id_.replace("-", "_")
    text = TOML.format(id=id_, module=module, name=name, more=more) + tables
    (folder / f"{id_}.toml").write_text(text, "utf-8")
    (folder / f"{module}.py").write_text(code, "utf-8")
