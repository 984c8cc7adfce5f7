"""What the scripted agent can do when prompted: `scene_WORD` is its turn, `after_WORD` what follows the answer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from typing import Any

OUT = threading.Lock()
CHUNK = "agent_message_chunk"


class Player:
    def __init__(self) -> None:
        self.sessions: dict[str, list[str]] = {}
        self.cancelled: set[str] = set()
        self.answers: dict[int, Any] = {}
        self.waiting: dict[int, threading.Event] = {}
        self.released = threading.Event()
        self.next = 1000

    # -- the pipe

    def send(self, message: dict[str, Any]) -> None:
        self.write(json.dumps({"jsonrpc": "2.0", **message}))

    def write(self, line: str) -> None:
        with OUT:
            sys.stdout.write(line + "\n")
            sys.stdout.flush()

    def update(self, session: str, variant: str, /, **fields: Any) -> None:
        self.send(update_of(session, variant, **fields))

    def say(self, session: str, text: str, kind: str = CHUNK) -> None:
        self.update(session, kind, content={"type": "text", "text": text})

    def say_json(self, session: str, value: Any) -> None:
        self.say(session, json.dumps(value))

    def request(self, method: str, params: dict[str, Any]) -> int:
        self.next += 1
        self.waiting[self.next] = threading.Event()
        self.send({"id": self.next, "method": method, "params": params})
        return self.next

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        """The result, or the error."""
        number = self.request(method, params)
        self.waiting[number].wait()
        return self.answers[number]

    # -- talk

    def repeat(self, session: str, text: str) -> str:
        self.say(session, f"You said: {text}")
        return "end_turn"

    def scene_turns(self, session: str, *rest: str) -> None:
        self.say(session, f"turns: {len(self.sessions[session])}, in {session}")

    def scene_think(self, session: str, *rest: str) -> None:
        self.say(session, "Let me see. ", "agent_thought_chunk")
        self.say(session, "Done.")

    def scene_many(self, session: str, count: str = "1000", *rest: str) -> None:
        line = json.dumps({"jsonrpc": "2.0", **update_of(session, CHUNK, content={"type": "text", "text": "word "})})
        with OUT:
            for left in range(int(count), 0, -500):
                sys.stdout.write(f"{line}\n" * min(left, 500))
            sys.stdout.flush()

    def scene_plan(self, session: str, *rest: str) -> None:
        for status in ("pending", "in_progress", "completed"):
            self.update(session, "plan", entries=[{"content": "Look", "priority": "high", "status": status}])
        self.say(session, "planned")

    def scene_tools(self, session: str, *rest: str) -> None:
        """One call that succeeds, one that fails, one that never gets an update."""
        self.say(session, "I will look. ")
        self.update(session, "tool_call", toolCallId="c1", title="Edit a.txt", kind="edit", rawInput={"path": "a.txt"})
        self.update(session, "tool_call_update", toolCallId="c1", status="in_progress", locations=[{"path": "/a.txt"}])
        diff = {"type": "diff", "path": "/a.txt", "oldText": "1", "newText": "2"}
        self.update(session, "tool_call_update", toolCallId="c1", status="completed", content=[diff, text_item("done")])
        self.update(session, "tool_call", toolCallId="c2", title="Fetch", kind="fetch", status="in_progress")
        self.update(session, "tool_call_update", toolCallId="c2", status="failed", content=[text_item("no network")])
        self.update(session, "tool_call", toolCallId="c3", title="Forgotten", kind="search", status="in_progress")
        self.say(session, "That was it.")

    def scene_print(self, session: str, *rest: str) -> None:
        """A tool whose output grows while it runs."""
        self.update(session, "tool_call", toolCallId="c1", title="make", kind="execute", status="in_progress")
        for text in ("one\n", "one\ntwo\n", "one\ntwo\nthree\n"):
            self.update(session, "tool_call_update", toolCallId="c1", content=[text_item(text)])
        self.update(session, "tool_call_update", toolCallId="c1", status="completed")
        self.say(session, "built")

    def scene_stop(self, session: str, reason: str, *rest: str) -> str:
        self.say(session, "stopping")
        return reason

    def scene_empty(self, session: str, *rest: str) -> None:
        return None

    def scene_slow(self, session: str, *rest: str) -> None:
        for number in range(6000):
            if session in self.cancelled:
                return
            self.say(session, f"w{number} ")
            time.sleep(0.02)

    def scene_hold(self, session: str, *rest: str) -> None:
        self.say(session, "holding")
        self.released.wait()

    def scene_switch(self, session: str, mode: str, *rest: str) -> None:
        """Its mode, and then it goes on until it is released."""
        self.update(session, "current_mode_update", currentModeId=mode)
        self.released.wait()
        self.say(session, f"in {mode}")

    def scene_release(self, session: str, *rest: str) -> None:
        self.say(session, "released")

    def after_release(self, number: int, session: str) -> None:
        self.released.set()

    def after_afterwards(self, number: int, session: str) -> None:
        self.say(session, " A moment later.")

    # -- questions

    def scene_tool(self, session: str, *rest: str) -> str | None:
        call = {"toolCallId": "call_1", "title": "Run ls", "kind": "execute", "rawInput": {"command": "ls"}}
        self.update(session, "tool_call", status="pending", **call)
        outcome = self.ask("session/request_permission", permission(session, call))["outcome"]
        if outcome["outcome"] == "cancelled":
            return "cancelled"
        allowed = outcome["optionId"].startswith("allow")
        content = [text_item("a.txt" if allowed else "refused")]
        status = "completed" if allowed else "failed"
        self.update(session, "tool_call_update", toolCallId="call_1", status=status, content=content)
        self.say(session, f"chose {outcome['optionId']}")
        return None

    def scene_both(self, session: str, *rest: str) -> None:
        """Two permissions at once."""
        numbers = [
            self.request("session/request_permission", permission(session, {"toolCallId": name, "title": name}))
            for name in ("first", "second")
        ]
        for number in numbers:
            self.waiting[number].wait()
        self.say(session, " ".join(str(self.answers[number]["outcome"].get("optionId")) for number in numbers))

    def scene_twofold(self, session: str, *rest: str) -> None:
        """One permission after the other."""
        self.scene_tool(session)
        self.scene_tool(session)

    def scene_asks_when_cancelled(self, session: str, *rest: str) -> None:
        self.scene_slow(session)
        self.scene_tool(session)

    def scene_withdraw(self, session: str, *rest: str) -> None:
        """Takes its question back, and goes on."""
        call = {"toolCallId": "w", "title": "Never mind"}
        number = self.request("session/request_permission", permission(session, call))
        time.sleep(0.2)
        self.send({"method": "$/cancel_request", "params": {"requestId": number}})
        self.waiting[number].wait()
        self.scene_many(session, "10000")

    def after_late(self, number: int, session: str) -> None:
        """Asks when its turn is over."""
        time.sleep(0.2)
        self.request("session/request_permission", permission(session, {"toolCallId": "late", "title": "Too late"}))
        self.request("fs/read_text_file", {"sessionId": session, "path": "/etc/hostname"})
        self.request("_vendor/ask", {"sessionId": session})
        self.request("session/request_permission", {"sessionId": "nobody", "options": []})

    def scene_form(self, session: str, *rest: str) -> None:
        schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
        params = {"sessionId": session, "mode": "form", "message": "Who?", "requestedSchema": schema}
        self.say_json(session, self.ask("elicitation/create", params))

    # -- files and terminals

    def scene_read(self, session: str, path: str, count: str = "1", *rest: str) -> None:
        """All that it ever got."""
        params = {"sessionId": session, "path": path}
        got = {json.dumps(self.ask("fs/read_text_file", params)) for _ in range(int(count))}
        self.say_json(session, [json.loads(answer) for answer in sorted(got)])

    def scene_lines(self, session: str, path: str, line: str, limit: str, *rest: str) -> None:
        params = {"sessionId": session, "path": path, "line": int(line), "limit": int(limit)}
        self.say_json(session, self.ask("fs/read_text_file", params))

    def scene_write(self, session: str, path: str, content: str, count: str = "1", *rest: str) -> None:
        params = {"sessionId": session, "path": path, "content": content}
        got = {json.dumps(self.ask("fs/write_text_file", params)) for _ in range(int(count))}
        self.say_json(session, [json.loads(answer) for answer in sorted(got)])

    def scene_terminal(self, session: str, *command: str) -> None:
        """Runs it, and shows it in a tool call."""
        made = self.ask("terminal/create", {"sessionId": session, "command": " ".join(command)})
        if "terminalId" not in made:
            return self.say_json(session, made)
        where = {"sessionId": session, "terminalId": made["terminalId"]}
        shown = [{"type": "terminal", "terminalId": made["terminalId"]}]
        call = {"toolCallId": "sh", "title": "Shell", "kind": "execute", "content": shown}
        self.update(session, "tool_call", status="in_progress", **call)
        found = {"exit": self.ask("terminal/wait_for_exit", where), "output": self.ask("terminal/output", where)}
        self.ask("terminal/release", where)
        self.update(session, "tool_call_update", toolCallId="sh", status="completed")
        return self.say_json(session, found)

    def scene_call(self, session: str, method: str, *rest: str) -> None:
        """Any request; its params are JSON."""
        self.say_json(session, self.ask(method, {"sessionId": session, **json.loads(" ".join(rest) or "{}")}))

    def scene_leave_running(self, session: str, *command: str) -> None:
        made = self.ask("terminal/create", {"sessionId": session, "command": " ".join(command)})
        self.say_json(session, made)

    # -- commands of its own

    def scene_run(self, session: str, *command: str) -> None:
        """Runs a shell's command line in a tool call. When it is cancelled, its turn ends and the command goes on."""
        call = {"toolCallId": "run", "title": "Shell", "kind": "execute"}
        self.update(session, "tool_call", status="in_progress", **call)
        process = subprocess.Popen(["/bin/sh", "-c", " ".join(command)], stdin=subprocess.DEVNULL)
        self.say_json(session, process.pid)
        while session not in self.cancelled and process.poll() is None:
            time.sleep(0.02)

    def scene_start(self, session: str, *command: str) -> None:
        """Starts a server, and lets it run."""
        self.say_json(session, subprocess.Popen(["/bin/sh", "-c", " ".join(command)], stdin=subprocess.DEVNULL).pid)

    # -- faults

    def scene_die(self, session: str, *rest: str) -> None:
        self.say(session, "about to")
        print("fatal: the dog ate it", file=sys.stderr, flush=True)
        os._exit(3)

    def after_leave(self, number: int, session: str) -> None:
        os._exit(0)

    def scene_hang(self, session: str, *rest: str) -> None:
        self.say(session, "thinking")
        threading.Event().wait()

    def scene_stubborn(self, session: str, *rest: str) -> None:
        """Never looks whether it was cancelled."""
        while True:
            self.say(session, "still ")
            time.sleep(0.02)

    def scene_flood(self, session: str, *rest: str) -> None:
        for _ in range(2000):
            sys.stderr.write("x" * 10_000 + "\n")
        self.say(session, "flooded")

    def scene_longline(self, session: str, *rest: str) -> None:
        self.write('{"jsonrpc":"2.0","method":"session/update","params":"' + "x" * 70_000_000 + '"}')
        self.say(session, "still here")

    def scene_noise(self, session: str, *rest: str) -> None:
        self.write("npm warn something is deprecated")
        self.write("[1, 2")
        self.send({"error": {"code": -32700, "message": "broken"}})
        self.send({"method": "session/update", "params": [session]})
        self.send({"method": "session/update", "params": {"sessionId": session, "update": "nonsense"}})
        self.send({"method": "_vendor/chatter", "params": {"sessionId": session}})
        self.update(session, "moon_phase", phase="full")
        self.say(session, "heard")

    def scene_garbage(self, session: str, *rest: str) -> None:
        """Whatever can be wrong with a message, one after the other."""
        for value in VALUES:
            for method in ("session/update", "$/cancel_request", "elicitation/complete", "_vendor/note", value):
                self.send({"method": method, "params": value})
                self.send({"method": method, "params": {"sessionId": value, "update": value, "requestId": value}})
                self.send({"id": value, "result": value})
            for kind in KINDS:
                self.update(session, kind, **dict.fromkeys(FIELDS, value))
                for field in FIELDS:
                    self.update(session, kind, toolCallId="g", **{field: value})
        self.say(session, "and yet")

    def scene_demands(self, session: str, *rest: str) -> None:
        """Whatever can be wrong with a request. How many there were, and what they were answered with."""
        names = ("path", "content", "command", "args", "env", "cwd", "terminalId", "line", "limit", "outputByteLimit")
        requests = [
            self.request(method, {"sessionId": session, **dict.fromkeys(names, value)})
            for method in DEMANDS
            for value in VALUES
            if not (method == "terminal/create" and value == "x")
        ]
        requests += [
            self.request("session/request_permission", {"sessionId": session, "toolCall": value, "options": value})
            for value in VALUES
        ]
        for number in requests:
            self.waiting[number].wait()
        answers = [self.answers[number] for number in requests]
        errors, outcomes = (sum(key in answer for answer in answers) for key in ("code", "outcome"))
        self.say_json(session, {"asked": len(requests), "errors": errors, "outcomes": outcomes})

    def after_twice(self, number: int, session: str) -> None:
        self.send({"id": number, "result": {"stopReason": "refusal"}})
        self.send({"id": 987_654, "result": {}})

    def scene_mute(self, session: str, *rest: str) -> None:
        """Closes stdout and lives on."""
        self.say(session, "going")
        os.close(1)
        threading.Event().wait()


def update_of(session: str, variant: str, /, **fields: Any) -> dict[str, Any]:
    update = {"sessionUpdate": variant, **fields}
    return {"method": "session/update", "params": {"sessionId": session, "update": update}}


def text_item(text: str) -> dict[str, Any]:
    return {"type": "content", "content": {"type": "text", "text": text}}


def permission(session: str, call: dict[str, Any]) -> dict[str, Any]:
    return {"sessionId": session, "toolCall": call, "options": OPTIONS}


VALUES: list[Any] = [None, True, 0, -1, 1.5, "", "x", [], [1], [None], [[]], {}, {"a": None}, [{"type": {}}]]
KINDS = (
    *("agent_message_chunk", "agent_thought_chunk", "user_message_chunk", "agent_message", "user_message"),
    *("tool_call", "tool_call_update", "tool_call_content_chunk", "plan", "plan_update", "plan_removed"),
    *("available_commands_update", "current_mode_update", "config_option_update", "session_info_update"),
    *("usage_update", "notice", "compaction_update", "subagent_update", "session_message", "terminal_update"),
)
FIELDS = (
    *("content", "messageId", "status", "title", "kind", "rawInput", "rawOutput", "locations", "_meta"),
    *("entries", "availableCommands", "currentModeId", "configOptions", "used", "size", "cost", "sessionId", "state"),
)
DEMANDS = (
    *("fs/read_text_file", "fs/write_text_file", "terminal/create", "terminal/output", "terminal/wait_for_exit"),
    *("terminal/kill", "terminal/release", "mcp/message", "_vendor/demand"),
)

OPTIONS = [
    {"optionId": "allow-once", "name": "Allow", "kind": "allow_once"},
    {"optionId": "allow-always", "name": "Always", "kind": "allow_always"},
    {"optionId": "reject-once", "name": "Reject", "kind": "reject_once"},
]
