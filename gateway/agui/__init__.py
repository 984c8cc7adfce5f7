"""AG-UI, the protocol between client and gateway (https://docs.ag-ui.com). Pure.

In: a client's `RunAgentInput`, an agent's events. Out: a `Turn`; AG-UI events in an order that clients accept. Never:
IO, a clock, or what an agent can do (`gateway.capabilities`).

Names to know: `inbound.read_run_input`, `outbound.Outbound` (one run's events), `ordering.Order` (the client's rules,
V1 to V23), `validate.validate`, `history.History` (events → messages and state), `schema` (combinators for reading
JSON).
"""
