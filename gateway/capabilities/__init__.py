"""What an agent can do: layers of statements, merged into a snapshot, checked, shown and watched.

In: what the agent's file, a probe, the agent's handshake, its model, its session and the gateway state. Out: one
snapshot with the source of each capability; a turn that fits it, or a refusal; views; a feed of changes. Never: IO;
only `feed` waits. A path that no layer states is unknown, which is not false.

Names to know: `layers.LayerStatement`, `merge.Snapshot`, `check.check_turn`, `views.render`, `feed.Feed`.
"""
