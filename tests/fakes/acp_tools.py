"""What the scripted agent does with its MCP servers: it starts them, lists their tools and calls them.

A small MCP client over the command in `mcpServers`. Each style of reporting such a call in ACP is that of a real agent;
`REPORTING_STYLES` has them by name.
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
from typing import Any

from tests.fakes.acp_scenes import Player, permission

LIMIT = 20.0
VERSION = "2025-06-18"


class Server:
    """One MCP server as a process."""

    def __init__(self, config: dict[str, Any], *, deaf: bool) -> None:
        env = {**os.environ, **{one["name"]: one["value"] for one in config.get("env", [])}}
        command = [config["command"], *config["args"]]
        self.name, self._deaf = config["name"], deaf
        self.process = subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._answers: dict[int, Any] = {}
        self._changed = threading.Condition()
        self._next = 0
        self.tools: list[str] = []
        threading.Thread(target=self._read, daemon=True).start()
        params = {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": {"name": "scripted", "version": "1"}}
        self.ask("initialize", params)
        self.send({"method": "notifications/initialized"})
        self.answer(self.list())

    def send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        with self._changed:
            self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            self.process.stdin.flush()

    def request(self, method: str, params: dict[str, Any]) -> int:
        with self._changed:
            self._next += 1
            number = self._next
        self.send({"id": number, "method": method, "params": params})
        return number

    def answer(self, number: int, limit: float = LIMIT) -> Any:
        with self._changed:
            assert self._changed.wait_for(lambda: number in self._answers, limit), "no answer of the server's"
            return self._answers[number]

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        return self.answer(self.request(method, params))

    def list(self) -> int:
        return self.request("tools/list", {})

    def call(self, tool: str, arguments: dict[str, Any], meta: dict[str, Any] | None = None) -> int:
        extra = {"_meta": meta} if meta else {}
        return self.request("tools/call", {"name": tool, "arguments": arguments, **extra})

    def stop(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(LIMIT)

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            message = json.loads(line)
            match message.get("method"):
                case "notifications/tools/list_changed" if not self._deaf:
                    self.list()
                case "ping":
                    self.send({"id": message["id"], "result": {}})
                case None:
                    self._answered(message["id"], message.get("result", message.get("error")))

    def _answered(self, number: int, result: Any) -> None:
        if "tools" in result:
            self.tools = [tool["name"] for tool in result["tools"]]
        with self._changed:
            self._answers[number] = result
            self._changed.notify_all()


class ToolUser(Player):
    """Scenes with client tools. `deaf_tools`: it never lists changed ones."""

    deaf_tools = False

    def __init__(self) -> None:
        super().__init__()
        self.servers: dict[str, list[Server]] = {}
        self.last: dict[str, Any] = {}
        """The newest result, by session."""

    def serve(self, session: str, config: list[dict[str, Any]]) -> None:
        self.unserve(session)
        self.servers[session] = [Server(one, deaf=self.deaf_tools) for one in config if "command" in one]

    def unserve(self, session: str) -> None:
        for server in self.servers.pop(session, []):
            server.stop()

    def scene_last(self, session: str, *rest: str) -> None:
        self.say_json(session, self.last.get(session))

    def scene_list(self, session: str, *rest: str) -> None:
        """Lists the tools that it could call."""
        self.say_json(session, {server.name: server.tools for server in self.servers.get(session, [])})

    def scene_use(self, session: str, style: str, tool: str, *rest: str) -> None:
        """Calls a tool, and reports it in this style."""
        [server] = self.servers[session]
        self.use_tool(session, server, style, "c1", tool, json.loads(" ".join(rest) or "{}"))

    def scene_use_twice(self, session: str, style: str, tool: str, *rest: str) -> None:
        """Two calls at once: with the arguments of the prompt, and with none."""
        [server] = self.servers[session]
        both: tuple[tuple[str, dict[str, Any]], ...] = (("c1", json.loads(" ".join(rest))), ("c2", {}))
        threads = [
            threading.Thread(target=self.use_tool, args=(session, server, style, name, tool, arguments), daemon=True)
            for name, arguments in both
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def scene_use_none(self, session: str, tool: str, *rest: str) -> None:
        """Calls a tool that is not offered."""
        [server] = self.servers[session]
        self.say_json(session, server.answer(server.call(tool, {})))

    def scene_give_up(self, session: str, tool: str, *rest: str) -> None:
        """Calls a tool, and does not wait for it."""
        [server] = self.servers[session]
        number = server.call(tool, {})
        self.released.wait()
        server.send({"method": "notifications/cancelled", "params": {"requestId": number, "reason": "it took long"}})
        self.say(session, "I went on without it.")

    def after_give_up(self, number: int, session: str) -> None:
        self.released.clear()

    def scene_use_late(self, session: str, *rest: str) -> None:
        self.say(session, "I will call it later.")

    def after_use_late(self, number: int, session: str) -> None:
        """Calls a tool when its turn is over."""
        [server] = self.servers[session]
        self.last[session] = server.answer(server.call(server.tools[0], {}))

    def use_tool(
        self, session: str, server: Server, style: str, name: str, tool: str, arguments: dict[str, Any]
    ) -> None:
        before, meta, after = REPORTING_STYLES[style](server.name, tool, name, arguments)
        if style in PERMISSION_STYLES:
            outcome = self.ask("session/request_permission", permission(session, before))["outcome"]
            if not outcome.get("optionId", "").startswith("allow"):
                self.update(session, "tool_call_update", toolCallId=name, status="failed")
                return self.say(session, "not allowed")
        elif before:
            self.update(session, "tool_call", **before)
        number = server.call(tool, arguments, meta)
        if after:
            self.update(session, "tool_call", **after)
        result = self.last[session] = server.answer(number)
        if style != "silent":
            status = "failed" if result.get("isError") else "completed"
            shown = [{"type": "content", "content": block} for block in result["content"]]
            self.update(session, "tool_call_update", toolCallId=name, status=status, content=shown)
        return self.say_json(session, result)


def claude(server: str, tool: str, name: str, arguments: dict[str, Any]) -> Any:
    full_name = f"mcp__{server}__{tool}"
    call = {"toolCallId": name, "name": full_name, "title": full_name, "kind": "other", "rawInput": arguments}
    return call, {"claudecode/toolUseId": name}, None


def codex(server: str, tool: str, name: str, arguments: dict[str, Any]) -> Any:
    shown = {"server": server, "tool": tool, "arguments": arguments}
    call = {"toolCallId": name, "title": f"mcp.{server}.{tool}", "kind": "execute", "rawInput": shown}
    return {**call, "status": "in_progress"}, {"callId": name}, None


def opencode(server: str, tool: str, name: str, arguments: dict[str, Any]) -> Any:
    call = {"toolCallId": name, "title": f"{server}_{tool}", "kind": "other", "rawInput": {}}
    return {**call, "status": "in_progress"}, None, None


def gemini(server: str, tool: str, name: str, arguments: dict[str, Any]) -> Any:
    """The first message about the call is the permission request; the arguments are its content."""
    shown = [{"type": "content", "content": {"type": "text", "text": json.dumps(arguments)}}]
    call = {"toolCallId": name, "title": f"{tool} ({server} MCP Server)", "kind": "other", "content": shown}
    return call, {"progressToken": 7}, None


def qwen(server: str, tool: str, name: str, arguments: dict[str, Any]) -> Any:
    """A call that is prepared is reported as another tool's; its real name comes after it has reached the server."""
    preparing = {"toolName": "tool_call", "phase": "preparing"}
    call = {"toolCallId": name, "title": "ToolCall", "kind": "other", "rawInput": {}, "_meta": preparing}
    really = {"toolName": f"mcp__{server}__{tool}"}
    return call, None, {**call, "status": "in_progress", "rawInput": arguments, "_meta": really}


def grok(server: str, tool: str, name: str, arguments: dict[str, Any]) -> Any:
    """Through a tool of its own."""
    shown = {"variant": "UseTool", "tool_name": f"{server}__{tool}", "tool_input": arguments}
    return {"toolCallId": name, "title": "use_tool", "rawInput": shown}, None, None


def crow(server: str, tool: str, name: str, arguments: dict[str, Any]) -> Any:
    """Without the server's name, and without arguments."""
    return {"toolCallId": name, "title": tool, "name": tool, "kind": "other", "status": "in_progress"}, None, None


def openhands(server: str, tool: str, name: str, arguments: dict[str, Any]) -> Any:
    shown = {"data": arguments, "kind": "MCPToolAction"}
    call = {"toolCallId": name, "title": f"{tool}: {json.dumps(arguments)}", "kind": "other", "rawInput": shown}
    return {**call, "status": "in_progress"}, None, None


def afterwards(server: str, tool: str, name: str, arguments: dict[str, Any]) -> Any:
    call, _, _ = opencode(server, tool, name, arguments)
    return None, None, {**call, "rawInput": arguments}


def silent(server: str, tool: str, name: str, arguments: dict[str, Any]) -> Any:
    return None, None, None


REPORTING_STYLES = {
    "claude": claude,
    "codex": codex,
    "opencode": opencode,
    "gemini": gemini,
    "qwen": qwen,
    "grok": grok,
    "crow": crow,
    "openhands": openhands,
    "afterwards": afterwards,
    "silent": silent,
}
PERMISSION_STYLES = ("gemini",)
