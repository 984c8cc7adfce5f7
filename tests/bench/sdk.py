"""An ACP client on the official Python SDK, with AG-UI's official encoder: what a bridge of the usual kind does."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import acp
from acp.schema import AgentMessageChunk, TextContentBlock
from ag_ui.core import TextMessageContentEvent
from ag_ui.encoder import EventEncoder

ROOT = Path(__file__).resolve().parents[2]
FAKE = ("-m", "tests.fakes.acp_agent")
MESSAGE_ID = "0123456789ab-1"


class Bridge:
    """Only what this agent uses: the SDK looks methods up by name."""

    def __init__(self) -> None:
        self.out: asyncio.Queue[str | None] = asyncio.Queue()
        self._encoder = EventEncoder()

    async def session_update(self, session_id: str, update: Any, **more: Any) -> None:
        if isinstance(update, AgentMessageChunk) and isinstance(update.content, TextContentBlock):
            event = TextMessageContentEvent(message_id=MESSAGE_ID, delta=update.content.text)
            self.out.put_nowait(self._encoder.encode(event))

    def on_connect(self, connection: Any) -> None:
        return None


async def bridged(size: int) -> AsyncIterator[str]:
    bridge = Bridge()
    client: Any = bridge
    async with acp.spawn_agent_process(client, sys.executable, *FAKE, cwd=ROOT) as (connection, _):
        await connection.initialize(protocol_version=acp.PROTOCOL_VERSION)
        session = await connection.new_session(cwd=str(Path.cwd()), mcp_servers=[])

        async def prompt() -> None:
            await connection.prompt(session_id=session.session_id, prompt=[acp.text_block(f"many {size}")])
            bridge.out.put_nowait(None)

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(prompt())
            while (frame := await bridge.out.get()) is not None:
                yield frame
