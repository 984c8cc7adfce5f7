"""A coding agent like the real ones: it runs the hooks of the project that it is started in, unless it is told not to.

In: a prompt on stdin. Out: a text on stdout, one line in the file START_LOG for each start, and whatever the hooks of
`.fake/settings.json` do. `--ignore-project` switches these off.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path


def main() -> None:
    with Path(os.environ["START_LOG"]).open("a") as log:
        log.write(json.dumps({"args": sys.argv[1:], "cwd": os.getcwd(), "env": dict(os.environ)}) + "\n")
    settings = Path(".fake/settings.json")
    if "--ignore-project" not in sys.argv and settings.exists():
        for command in json.loads(settings.read_text())["hooks"].values():
            subprocess.run(["sh", "-c", command], check=False, timeout=20)
    print(f"you said {sys.stdin.read().strip()}", end="")


if __name__ == "__main__":
    main()
