"""A gateway as far as its child is concerned: owns one until it is killed. `owner.py FOLDER MODE [ARGUMENT…]`.

Prints the child's process number and its first line, then waits for ever.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import anyio

from gateway.drivers.process.process import spawn

CHILD = Path(__file__).with_name("child.py")


async def own(folder: str, arguments: list[str]) -> None:
    async with anyio.create_task_group() as tasks:
        command = [sys.executable, "-I", "-S", str(CHILD), *arguments]
        process = await spawn(command, cwd=Path(folder), env=dict(os.environ), tasks=tasks)
        print(process.pid, (await process.read()).decode().strip(), flush=True)
        await anyio.sleep_forever()


if __name__ == "__main__":
    anyio.run(own, sys.argv[1], sys.argv[2:])
