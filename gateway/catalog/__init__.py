"""`agents/*.toml` → `AgentDefinition`.

In: directories of TOML files, installed plugins, `--acp` command lines, tables that are registered over HTTP. Out: the
catalog, {id: definition}, or every mistake with its key. Never: a process, a network request.

The names to know: `definition.AgentDefinition` (one agent), `sections` (its tables), `load.load_catalog` and
`load.define` (reading), `renamed_keys` (old keys and their new names), `models.registry.ModelRegistry` (the models of
one agent), `effort` (thinking options as the agent's parameters).
"""
