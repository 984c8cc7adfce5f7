"""Recordings of real agents and what a client must see of them.

`transcripts/` has one folder per agent, `goldens/` the AG-UI events that a recording becomes.
"""

from pathlib import Path

TRANSCRIPTS = Path(__file__).parent / "transcripts"
GOLDENS = Path(__file__).parent / "goldens"
