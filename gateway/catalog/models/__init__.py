"""The models of an agent.

In: `[[models]]` of its file and the models that the live agent lists. Out: a model found by its name, prices, and
agent-mux's JSON. The names to know: `definition.Model`, `registry.ModelRegistry`, `lookup.validate_name`,
`prices.calculate_cost`.
"""
