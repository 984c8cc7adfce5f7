"""One run, from a checked turn to numbered events: admitted, played, parked at an interrupt, resumed, ended.

In: an agent, a `Turn` that was checked against its snapshot, the principal. Out: a `Run` whose log every reader
follows. Never: HTTP, or a call into a package above. What others must know of a thread is published by
`thread_activity` and read from there.

Names to know: `engine.Engine` (start, follow, cancel, drain), `admission.Admission` (one live run per thread),
`playback.Playback` (one turn, played), `run.Run`, `log.Log`, `session_pool.SessionPool`, `interrupts.Interrupts`.
"""
