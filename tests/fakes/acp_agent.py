"""A scripted ACP agent, run as a real process. Plain words in the prompt say what it does, faults included.

Flags: `--no-load` (sessions cannot come back), `--never-initialize`, `--ignore-term`, `--auth` (wants `authenticate` first),
`--state FILE` (remembers sessions, so that a new process can load them).
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

FLAGS = set(sys.argv[1:])
STATE = Path(sys.argv[sys.argv.index("--state") + 1]) if "--state" in FLAGS else None
OUT = threading.Lock()
CHUNK = "agent_message_chunk"


class Agent:
    def __init__(self) -> None:
        self.sessions: dict[str, list[str]] = json.loads(STATE.read_text()) if STATE and STATE.exists() else {}
        self.answers: dict[int, Any] = {}
        self.waiting: dict[int, threading.Event] = {}
        self.next = 1000
        self.cancelled: set[str] = set()
        self.signed_in = "--auth" not in FLAGS

    # -- the pipe

    def send(self, message: dict[str, Any]) -> None:
        self.write(json.dumps({"jsonrpc": "2.0", **message}))

    def write(self, line: str) -> None:
        with OUT:
            sys.stdout.write(line + "\n")
            sys.stdout.flush()

    def update(self, session: str, variant: str, /, **fields: Any) -> None:
        params = {"sessionId": session, "update": {"sessionUpdate": variant, **fields}}
        self.send({"method": "session/update", "params": params})

    def say(self, session: str, text: str, kind: str = CHUNK) -> None:
        self.update(session, kind, content={"type": "text", "text": text})

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        self.next += 1
        number = self.next
        self.waiting[number] = threading.Event()
        self.send({"id": number, "method": method, "params": params})
        self.waiting[number].wait(60)
        return self.answers.get(number)

    # -- what is asked of it

    def handle(self, message: dict[str, Any]) -> None:
        method, number, params = message.get("method"), message.get("id"), message.get("params") or {}
        if method is None:
            self.answers[number or 0] = message.get("result", message.get("error"))
            if (event := self.waiting.get(number or 0)) is not None:
                event.set()
        elif method == "session/cancel":
            self.cancelled.add(params["sessionId"])
        elif method == "session/prompt":
            threading.Thread(target=self.prompt, args=(number, params), daemon=True).start()
        elif number is not None:
            self.answer(number, method, params)

    def answer(self, number: int, method: str, params: dict[str, Any]) -> None:
        if method == "initialize" and "--never-initialize" in FLAGS:
            return
        if method.startswith("session/new") and not self.signed_in:
            error = {"code": -32000, "message": "Authentication required"}
            return self.send({"id": number, "error": error})
        result = self.result(method, params)
        if result is None:
            return self.send({"id": number, "error": {"code": -32601, "message": "Method not found"}})
        return self.send({"id": number, "result": result})

    def result(self, method: str, params: dict[str, Any]) -> dict[str, Any] | None:
        match method:
            case "initialize":
                return INITIALIZED if "--no-load" not in FLAGS else {**INITIALIZED, "agentCapabilities": {}}
            case "authenticate":
                self.signed_in = True
                return {}
            case "session/new":
                session = f"s{len(self.sessions) + 1}-{os.getpid()}"
                self.sessions[session] = []
                return {"sessionId": session, **SETTINGS}
            case "session/load" if params["sessionId"] in self.sessions:
                for text in self.sessions[params["sessionId"]]:
                    self.say(params["sessionId"], text, "user_message_chunk")
                    self.say(params["sessionId"], "(replayed)")
                return SETTINGS
            case "session/set_mode":
                self.update(params["sessionId"], "current_mode_update", currentModeId=params["modeId"])
                return {}
            case "session/close":
                return {}
        return None

    # -- turns

    def prompt(self, number: int, params: dict[str, Any]) -> None:
        session = params["sessionId"]
        self.cancelled.discard(session)
        text = "\n".join(block.get("text", f"[{block['type']}]") for block in params["prompt"])
        self.sessions.setdefault(session, []).append(text)
        if STATE:
            STATE.write_text(json.dumps(self.sessions))
        word, *rest = text.split() or [""]
        scene = getattr(self, f"scene_{word}", None)
        reason = scene(session, *rest) if scene else self.say(session, f"You said: {text}")
        if "cancelled" in (reason, "cancelled" if session in self.cancelled else ""):
            reason = "cancelled"
        usage = {"inputTokens": 10, "outputTokens": 5, "totalTokens": 15}
        self.send({"id": number, "result": {"stopReason": reason or "end_turn", "usage": usage}})
        if word == "twice":
            self.send({"id": number, "result": {"stopReason": "end_turn"}})
        if word == "late":
            self.ask("fs/read_text_file", {"sessionId": session, "path": "/etc/hostname"})

    def scene_turns(self, session: str, *rest: str) -> None:
        self.say(session, f"turns: {len(self.sessions[session])}")

    def scene_think(self, session: str, *rest: str) -> None:
        self.say(session, "Let me see. ", "agent_thought_chunk")
        self.say(session, "Done.")

    def scene_many(self, session: str, count: str = "1000", *rest: str) -> None:
        params = {"sessionId": session, "update": {"sessionUpdate": CHUNK, "content": {"type": "text", "text": "word "}}}
        line = json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": params}) + "\n"
        with OUT:
            left = int(count)
            while left > 0:
                sys.stdout.write(line * min(left, 500))
                left -= 500
            sys.stdout.flush()

    def scene_tool(self, session: str, *rest: str) -> str | None:
        call = {"toolCallId": "call_1", "title": "Run ls", "kind": "execute", "rawInput": {"command": "ls"}}
        self.update(session, "tool_call", status="pending", **call)
        answer = self.ask("session/request_permission", {"sessionId": session, "toolCall": call, "options": OPTIONS})
        outcome = (answer or {}).get("outcome", {})
        if outcome.get("outcome") == "cancelled":
            return "cancelled"
        allowed = str(outcome.get("optionId", "")).startswith("allow")
        content = [{"type": "content", "content": {"type": "text", "text": "a.txt" if allowed else "refused"}}]
        self.update(session, "tool_call_update", toolCallId="call_1", status="completed" if allowed else "failed", content=content)
        self.say(session, f"chose {outcome.get('optionId')}")
        return None

    def scene_both(self, session: str, *rest: str) -> None:
        """Two permissions at once."""
        found: dict[str, Any] = {}

        def one(name: str) -> None:
            call = {"toolCallId": name, "title": f"Run {name}", "rawInput": {"command": name}}
            self.update(session, "tool_call", status="pending", **call)
            params = {"sessionId": session, "toolCall": call, "options": OPTIONS}
            found[name] = self.ask("session/request_permission", params)["outcome"].get("optionId")

        threads = [threading.Thread(target=one, args=(name,)) for name in ("first", "second")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.say(session, f"{found['first']} {found['second']}")

    def scene_form(self, session: str, *rest: str) -> None:
        schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
        params = {"sessionId": session, "mode": "form", "message": "Who?", "requestedSchema": schema}
        self.say(session, json.dumps(self.ask("elicitation/create", params)))

    def scene_plan(self, session: str, *rest: str) -> None:
        for status in ("pending", "in_progress", "completed"):
            entries = [{"content": "Look", "priority": "high", "status": status}]
            self.update(session, "plan", entries=entries)
        self.say(session, "planned")

    def scene_read(self, session: str, path: str, *rest: str) -> None:
        self.say(session, json.dumps(self.ask("fs/read_text_file", {"sessionId": session, "path": path})))

    def scene_write(self, session: str, path: str, content: str, *rest: str) -> None:
        params = {"sessionId": session, "path": path, "content": content}
        self.say(session, json.dumps(self.ask("fs/write_text_file", params)))

    def scene_terminal(self, session: str, *command: str) -> None:
        made = self.ask("terminal/create", {"sessionId": session, "command": " ".join(command)})
        if "terminalId" not in made:
            return self.say(session, json.dumps(made))
        where = {"sessionId": session, "terminalId": made["terminalId"]}
        exit_status = self.ask("terminal/wait_for_exit", where)
        output = self.ask("terminal/output", where)
        self.ask("terminal/release", where)
        return self.say(session, json.dumps({"exit": exit_status, "output": output}))

    def scene_slow(self, session: str, count: str = "600", *rest: str) -> str | None:
        for number in range(int(count)):
            if session in self.cancelled:
                return "cancelled"
            self.say(session, f"w{number} ")
            time.sleep(0.05)
        return None

    def scene_die(self, session: str, *rest: str) -> None:
        self.say(session, "about to")
        print("fatal: the dog ate it", file=sys.stderr, flush=True)
        os._exit(3)

    def scene_hang(self, session: str, *rest: str) -> None:
        self.say(session, "thinking")
        threading.Event().wait()

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
        self.update(session, "moon_phase", phase="full")
        self.say(session, "heard")

    def scene_twice(self, session: str, *rest: str) -> None:
        self.say(session, "once")

    def scene_late(self, session: str, *rest: str) -> None:
        self.say(session, "later")

    def scene_mute(self, session: str, *rest: str) -> None:
        """Closes stdout and lives on."""
        self.say(session, "going")
        os.close(1)
        threading.Event().wait()

    def scene_empty(self, session: str, *rest: str) -> None:
        return None


INITIALIZED = {
    "protocolVersion": 1,
    "agentCapabilities": {
        "loadSession": True,
        "promptCapabilities": {"image": True, "embeddedContext": True},
        "sessionCapabilities": {"close": {}},
    },
    "agentInfo": {"name": "scripted", "title": "Scripted", "version": "1.2.3"},
    "authMethods": [{"id": "key", "name": "A key"}],
}
MODES = [{"id": "ask", "name": "Ask"}, {"id": "auto", "name": "Auto"}]
SETTINGS = {"modes": {"currentModeId": "ask", "availableModes": MODES}}
OPTIONS = [
    {"optionId": "allow-once", "name": "Allow", "kind": "allow_once"},
    {"optionId": "allow-always", "name": "Always", "kind": "allow_always"},
    {"optionId": "reject-once", "name": "Reject", "kind": "reject_once"},
]


def main() -> None:
    if "--ignore-term" in FLAGS:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    agent = Agent()
    for line in sys.stdin:
        agent.handle(json.loads(line))
    if "--ignore-term" in FLAGS:
        threading.Event().wait()


if __name__ == "__main__":
    main()
