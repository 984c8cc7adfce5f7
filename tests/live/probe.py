"""Every pinned agent against the scripted model, over plain stdio: `python -m tests.live.probe [ID ...]`.

In: what `install` has put there. Out: a table of what works, agent by agent. Slow, and no test: it is for the person
who changes `agents.toml` or an agent's definition. What it says in full goes to a folder it names.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp

from rich.console import Console
from rich.table import Table

from tests.fakes.model_server.server import ModelServer
from tests.live.install import install, programs
from tests.live.recipes import Recipe, load_recipes, prepare
from tests.live.stdio import Heard, Json, NoAnswer, StdioAgent

DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
"""A PNG of one pixel."""
SHELL = "rm -rf victim && echo gone"
"""What every agent that asks at all asks about."""
LATE = 1.5
MCP_SERVER = Path(__file__).with_name("mcp_server.py")

Cell = Callable[["Visit"], str]


class Visit:
    """One agent with one session."""

    def __init__(self, agent: StdioAgent, workspace: Path, shout: str) -> None:
        self._agent, self._workspace = agent, workspace
        say = {"name": "one", "command": sys.executable, "args": [str(MCP_SERVER)], "env": []}
        self._say: Json = say
        self._shout: Json = {"type": "http", "name": "two", "url": shout, "headers": []}
        self._http = False
        self._session = ""

    def start(self) -> str:
        begun = time.monotonic()
        client = {"name": "probe", "version": "1"}
        offer = {"protocolVersion": 1, "clientCapabilities": {}, "clientInfo": client}
        told = self._agent.call("initialize", offer, 90)
        if told.result is None:
            raise NoAnswer(f"initialize: {told.error}")
        self._http = bool(told.result["agentCapabilities"].get("mcpCapabilities", {}).get("http"))
        return f"{time.monotonic() - begun:.1f} s"

    def session(self) -> str:
        self._session = self._open(self._say)
        return "yes"

    def _open(self, server: Json) -> str:
        told = self._agent.call("session/new", {"cwd": str(self._workspace), "mcpServers": [server]}, 90)
        if told.result is None:
            raise NoAnswer(f"session/new: {told.error}")
        return str(told.result["sessionId"])

    def _prompt(self, text: str, *more: Json, session: str | None = None) -> Heard:
        prompt = [{"type": "text", "text": text}, *more]
        params = {"sessionId": session or self._session, "prompt": prompt}
        heard = self._agent.call("session/prompt", params)
        if heard.error:
            raise NoAnswer(str(heard.error)[:120])
        return heard

    def text(self) -> str:
        heard = self._prompt("hello there")
        chunks = sum(update["sessionUpdate"] == "agent_message_chunk" for update in heard.updates)
        said = heard.text()
        return f"yes, {chunks}" if said == "You said: hello there" else repr(said[:60])

    def think(self) -> str:
        thought = self._prompt("THINK about it").text("agent_thought_chunk")
        return "yes" if "I consider the request" in thought else repr(thought[:40])

    def shell(self) -> str:
        (self._workspace / "victim").mkdir()
        heard = self._prompt(f"SHELL {SHELL}")
        asked = "asked" if "session/request_permission" in heard.asked else "not asked"
        done = not (self._workspace / "victim").exists() and "gone" in heard.text()
        return f"yes, {asked}" if done else repr(heard.text()[:60])

    def write(self) -> str:
        file = self._workspace / "new.txt"
        heard = self._prompt(f"WRITE {file} some words")
        asked = ", ".join(method.removeprefix("session/request_") for method in heard.asked) or "not asked"
        done = file.exists() and file.read_text().strip() == "some words"
        return f"yes, {asked}" if done else repr(heard.text()[:60])

    def image(self) -> str:
        said = self._prompt("IMAGE?", {"type": "image", "mimeType": "image/png", "data": DOT}).text()
        return "yes" if "I see 1 image(s): image/png" in said else "not passed on"

    def stdio_tool(self) -> str:
        return self._tool("say", self._session)

    def http_tool(self) -> str:
        """In a session of its own: one agent announces http and then fails at every prompt."""
        if not self._http:
            return "not announced"
        session = self._open(self._shout)
        self._agent.listen(LATE)  # some connect to their servers only after they have answered
        return self._tool("shout", session)

    def _tool(self, name: str, session: str) -> str:
        said = self._prompt(f'CALL {name} {{"text": "hi"}}', session=session).text()
        return "yes" if f"{name}: hi" in said else repr(said[:60])

    def second(self) -> str:
        other = self._open(self._say)
        said = [self._prompt(text, session=where).text() for text, where in (("one", other), ("two", None))]
        return "yes" if ["You said: one" in said[0], "You said: two" in said[1]] == [True, True] else repr(said)

    def late(self) -> str:
        kinds = {update["sessionUpdate"] for update in self._agent.listen(LATE).updates}
        return ", ".join(sorted(kinds)) or "nothing"


CELLS: dict[str, Cell] = {
    "initialize": Visit.start,
    "session": Visit.session,
    "text, chunks": Visit.text,
    "after it": Visit.late,
    "think": Visit.think,
    "shell": Visit.shell,
    "write": Visit.write,
    "image": Visit.image,
    "MCP stdio": Visit.stdio_tool,
    "MCP http": Visit.http_tool,
    "two sessions": Visit.second,
}


@contextmanager
def shouting() -> Iterator[str]:
    """The URL of an MCP server."""
    with subprocess.Popen([sys.executable, str(MCP_SERVER), "--http"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.terminate()


def visit(recipe: Recipe, models: ModelServer, shout: str, folder: Path) -> list[str]:
    home, workspace = folder / "home", folder / "workspace"
    home.mkdir(parents=True)
    workspace.mkdir()
    ready = prepare(recipe, paths=programs(recipe), home=home, models=models.url)
    cells: list[str] = []
    with StdioAgent(ready, workspace) as agent:
        guest = Visit(agent, workspace, shout)
        for cell in CELLS.values():
            try:
                cells.append(cell(guest))
            except (NoAnswer, BrokenPipeError) as exc:
                cells.append(f"no: {exc}")
                if len(cells) < 3:
                    break
    return cells


def main() -> None:
    recipes = load_recipes()
    wanted = sys.argv[1:] or list(recipes.agents)
    folder = Path(mkdtemp(prefix="probe-"))
    console = Console(highlight=False)
    table = Table("agent", *CELLS)
    with ModelServer() as models, shouting() as shout:
        for number, name in enumerate(wanted, 1):
            with console.status(f"{name} ({number} of {len(wanted)})"):
                install(recipes.agents[name], recipes)
                cells = visit(recipes.agents[name], models, shout, folder / name)
            console.print(f"{name}: {' | '.join(cells)}", markup=False, soft_wrap=True)
            table.add_row(name, *cells)
    console.print(table)
    console.print(f"homes and stderr: {folder}", markup=False)


if __name__ == "__main__":
    main()
