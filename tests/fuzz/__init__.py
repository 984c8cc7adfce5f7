"""Fuzzing of every reader of foreign input, from recordings of real agents.

In: the recordings of all dialects, ACP transcripts, bodies of remote runs, MCP messages. Out: cases that break a
reader, each reduced to a few lines. `python -m tests.fuzz --seconds N` searches at random, `--sweep` replaces every
recorded value by every JSON type. Names to know: `targets.all_targets` (what is fuzzed), `mutations` (how a recording
is changed), `runner.fuzz`, `sweep.sweep`, `reduction.reduce_case`.

Never: a dependency on `hypothesis`. A case here costs well under a millisecond, and its seed reproduces it.
"""
