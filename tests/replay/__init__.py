"""Recordings of real agents and what a client must see of them.

`transcripts/` has one folder per agent, `goldens/` the AG-UI events that a recording becomes. `harness.DialectReplay`
feeds a recording to a dialect and answers its requests from it, with a small adapter per agent in
`tests/wire/dialects/*_replay.py`; `runs.Runs` makes the runs that a client sees; `golden.render_runs` writes them.
"""

from pathlib import Path

TRANSCRIPTS = Path(__file__).parent / "transcripts"
GOLDENS = Path(__file__).parent / "goldens"
