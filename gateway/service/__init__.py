"""The gateway without HTTP: everything wired together, its snapshots, and the one way to start a run.

In: settings, a store, the overlays that agents come from. Out: a `Gateway`, whose parts `web` serves. Never: a request,
a response, a socket.

Names to know: `gateway.Gateway` and `gateway.open_gateway` (the composition root), `snapshots.Snapshots` (`take`: the
one way to a snapshot), `checked_runs.CheckedRuns` (`start`: the one way to a run), `capability_source.CapabilitySource`
(what the capability feed watches).
"""
