"""A scripted ACP agent, run as a real process. The first word of a prompt is a command, faults included.

--log=FILE            writes every message that it receives there
--state=FILE          stores sessions there, so that a new process can load them
--bare, --full        offers nothing, or everything; else `session/load`, `session/close`, images, modes
--second              uses protocol version 2
--auth, --auth-late   requires `authenticate` before a session, or before a prompt
--slow-start=SECONDS  answers `initialize` after that time; --never-initialize: never
--deaf                reads nothing any more once it has a session
--deaf-tools          never lists the tools of an MCP server again after a change
--no-mcp              ignores the MCP servers of its sessions
--late-mcp            starts them beside the first prompt, half a second after the session opened
--one-table           keeps those of all its sessions in one table, by their names
--loses-history       loads a session without its history, and says nothing of it
--ignore-term         goes on after the end of its stdin, and after SIGTERM
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

from tests.fakes.acp_scenes import update_of
from tests.fakes.acp_tools import ToolUser

FLAGS = dict(flag.lstrip("-").partition("=")[::2] for flag in sys.argv[1:])
STATE = Path(FLAGS["state"]) if "state" in FLAGS else None


class Agent(ToolUser):
    deaf_tools = "deaf-tools" in FLAGS

    def __init__(self) -> None:
        super().__init__()
        self.sessions = json.loads(STATE.read_text()) if STATE and STATE.exists() else {}
        self.made = len(self.sessions)
        self.signed_in = not FLAGS.keys() & {"auth", "auth-late"}
        self.settings: dict[str, dict[str, Any]] = {}
        self.table: dict[str, Any] = {}

    # -- requests

    def handle(self, message: dict[str, Any]) -> None:
        method, number, params = message.get("method"), message.get("id"), message.get("params") or {}
        if method is None:
            self.answers[number or 0] = message.get("result", message.get("error"))
            self.waiting[number or 0].set()
        elif method == "session/cancel":
            self.cancelled.add(params["sessionId"])
        elif method == "session/prompt":
            threading.Thread(target=self.prompt, args=(number, params), daemon=True).start()
        elif number is not None:
            self.answer(number, method, params)

    def answer(self, number: int, method: str, params: dict[str, Any]) -> None:
        if method == "initialize" and "never-initialize" in FLAGS:
            return None
        if method == "session/new" and "auth" in FLAGS and not self.signed_in:
            return self.refuse(number, -32000, "Authentication required")
        if (result := self.result(method, params)) is None:
            return self.refuse(number, -32601, "Method not found")
        if method in OPENING and (error := self.start_servers(result.get("sessionId"), params)):
            return self.refuse(number, -32603, error)
        self.send({"id": number, "result": result})
        while method == "session/new" and "deaf" in FLAGS:
            time.sleep(60)
        return None

    def start_servers(self, session: str | None, params: dict[str, Any]) -> str | None:
        """Why the session cannot be opened."""
        session, servers = session or params["sessionId"], params["mcpServers"]
        if "no-mcp" in FLAGS:
            return None
        for server in servers if "one-table" in FLAGS else ():
            if self.table.setdefault(server["name"], server) != server:
                return f"Runtime MCP server '{server['name']}' is already registered with different settings"
        if "late-mcp" in FLAGS:
            threading.Timer(0.5, self.serve, (session, servers)).start()
        else:
            self.serve(session, servers)
        return None

    def refuse(self, number: int, code: int, text: str) -> None:
        self.send({"id": number, "error": {"code": code, "message": text}})

    def result(self, method: str, params: dict[str, Any]) -> Any:
        match method, params.get("sessionId"):
            case "initialize", _:
                time.sleep(float(FLAGS.get("slow-start", 0)))
                if "second" in FLAGS:
                    return SECOND_WITH_MCP if "no-mcp" in FLAGS else SECOND
                return BARE if "bare" in FLAGS else FULL if "full" in FLAGS else FIRST
            case (("authenticate" | "auth/login"), _):
                self.signed_in = True
                return {}
            case "session/new", _:
                return self.new_session([])
            case "session/load", str(session) if session in self.sessions and "loses-history" in FLAGS:
                self.sessions[session] = []
                return self.settings_of(session)
            case "session/load", str(session) if session in self.sessions:
                for text in self.sessions[session]:
                    self.say(session, text, "user_message_chunk")
                    self.say(session, "(replayed)")
                return self.settings_of(session)
            case "session/resume", str(session) if session in self.sessions:
                return self.settings_of(session)
            case "session/fork", str(session) if session in self.sessions:
                forked = self.new_session(self.sessions[session])
                self.say(forked["sessionId"], "(replayed before the answer)")  # opencode does that
                return forked
            case "session/list", _:
                return {"sessions": [{"sessionId": session, "cwd": params.get("cwd")} for session in self.sessions]}
            case "session/delete", str(session) if session in self.sessions:
                del self.sessions[session]
                self.remember()
                return {}
            case "session/close", str(session):
                self.unserve(session)
                return {}
            case (("session/set_mode" | "session/set_model" | "session/set_config_option"), str(session)):
                return self.set(method, params, self.settings_of(session))
            case "_vendor/echo", _:
                return {"echo": params}
        return None

    def new_session(self, history: list[str]) -> dict[str, Any]:
        self.made += 1
        session = f"s{self.made}-{os.getpid()}"
        self.sessions[session] = list(history)
        self.remember()
        return {"sessionId": session, **self.settings_of(session)}

    def settings_of(self, session: str) -> dict[str, Any]:
        settings = {} if "bare" in FLAGS else SETTINGS if "full" in FLAGS else MODES
        return self.settings.setdefault(session, json.loads(json.dumps(settings)))

    def remember(self) -> None:
        if STATE:
            STATE.write_text(json.dumps(self.sessions))

    def set(self, method: str, params: dict[str, Any], settings: dict[str, Any]) -> Any:
        if method == "session/set_mode":
            settings["modes"]["currentModeId"] = params["modeId"]
            return {}
        if method == "session/set_model":
            settings["models"]["currentModelId"] = params["modelId"]
            return {}
        for option in settings["configOptions"]:
            if option["id"] == params["configId"]:
                option["currentValue"] = params["value"]
        return {"configOptions": settings["configOptions"]}

    # -- turns

    def prompt(self, number: int, params: dict[str, Any]) -> None:
        session = params["sessionId"]
        self.cancelled.discard(session)
        if not self.signed_in:
            return self.refuse(number, -32000, "Authentication required")
        text = "\n".join(block.get("text", f"[{block['type']}]") for block in params["prompt"])
        command, *rest = text.split() or [""]
        if session not in self.sessions or command == "forget":
            self.sessions.pop(session, None)
            return self.refuse(number, -32002, "Session not found")
        if command == "refuse":
            return self.refuse(number, -32603, "the model is on holiday")
        self.sessions[session].append(text)
        self.remember()
        return self.play(number, session, command, rest, text)

    def play(self, number: int, session: str, command: str, rest: list[str], text: str) -> None:
        if "second" in FLAGS:
            self.send({"id": number, "result": {}})
            self.update(session, "state_update", state="running")
        scene = getattr(self, f"scene_{command}", None)
        reason: str | None = scene(session, *rest) if scene else self.repeat(session, text)
        if session in self.cancelled:
            reason = "cancelled"
        if "second" in FLAGS:
            idle = update_of(session, "state_update", state="idle", stopReason=reason or "end_turn")
            title = update_of(session, "session_info_update", title="Two lines in one write")
            return self.write("\n".join(json.dumps({"jsonrpc": "2.0", **message}) for message in (idle, title)))
        usage = {"inputTokens": 10, "outputTokens": 5, "totalTokens": 15}
        self.send({"id": number, "result": {"stopReason": reason or "end_turn", "usage": usage}})
        getattr(self, f"after_{command}", lambda number, session: None)(number, session)
        return None


def initialize_result(**capabilities: Any) -> dict[str, Any]:
    info = {"name": "scripted", "title": "Scripted", "version": "1.2.3"}
    methods = [{"id": "key", "name": "A key"}]
    return {"protocolVersion": 1, "agentCapabilities": capabilities, "agentInfo": info, "authMethods": methods}


OPENING = ("session/new", "session/load", "session/resume", "session/fork")
PROMPT = {"image": True, "embeddedContext": True}
ABILITIES = ("close", "list", "delete", "fork", "resume", "additionalDirectories")
BARE = initialize_result()
FIRST = initialize_result(loadSession=True, promptCapabilities=PROMPT, sessionCapabilities={"close": {}})
FULL = initialize_result(
    loadSession=True,
    promptCapabilities=PROMPT | {"audio": True},
    mcpCapabilities={"http": True, "sse": True},
    sessionCapabilities={name: {} for name in ABILITIES},
)
SECOND = {"protocolVersion": 2, "info": {"name": "scripted", "version": "2"}, "capabilities": {"session": {}}}
SECOND_WITH_MCP = SECOND | {"capabilities": {"session": {"mcp": {"stdio": {}}}}}

ASK, AUTO = {"id": "ask", "name": "Ask"}, {"id": "auto", "name": "Auto"}
SMALL, LARGE = {"modelId": "small", "name": "S"}, {"modelId": "large", "name": "L"}
MODES = {"modes": {"currentModeId": "ask", "availableModes": [ASK, AUTO]}}
EFFORT = {
    "id": "effort",
    "name": "Effort",
    "category": "thought_level",
    "type": "select",
    "currentValue": "low",
    "options": [{"value": "low", "name": "Low"}, {"value": "high", "name": "High"}],
}
SETTINGS = {
    **MODES,
    "models": {"currentModelId": "small", "availableModels": [SMALL, LARGE]},
    "configOptions": [EFFORT, {"id": "web", "name": "Web", "type": "boolean", "currentValue": False}],
}


def main() -> None:
    if "ignore-term" in FLAGS:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    agent = Agent()
    with Path(FLAGS.get("log", os.devnull)).open("a") as log:
        for line in sys.stdin:
            log.write(line)
            log.flush()
            agent.handle(json.loads(line))
    while "ignore-term" in FLAGS:
        time.sleep(60)


if __name__ == "__main__":
    main()
