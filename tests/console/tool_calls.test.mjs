// Tool calls, console tools, JSON patches and curl commands.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";

import { callStatus, readDiffs, summarizeArguments } from "../../gateway/console/chat/tool_calls.js";
import { toCurl } from "../../gateway/console/chat/curl.js";
import { CONSOLE_TOOLS, isConsoleTool, pendingConsoleCalls, readQuestion } from "../../gateway/console/chat/client_tools.js";
import { applyPatch } from "../../gateway/console/chat/json_patch.js";

const idle = { interrupts: [], pending: [], live: false };
const call = (fields) => ({ id: "c", meta: {}, args: "", open: false, ...fields });

test("the status of a call", () => {
  assert.equal(callStatus(call({ open: true }), { ...idle, live: true }), "writing");
  assert.equal(callStatus(call(), { ...idle, live: true }), "running");
  assert.equal(callStatus(call(), { ...idle, interrupts: [{ toolCallId: "c" }] }), "waiting");
  assert.equal(callStatus(call(), { ...idle, pending: ["c"] }), "waiting");
  assert.equal(callStatus(call(), idle), "unknown");
  assert.equal(callStatus(call(), { ...idle, expired: [{ toolCallId: "c" }] }), "expired");
  const denied = { ...idle, decisions: new Map([["c", "denied"]]) };
  assert.equal(callStatus(call(), { ...denied, live: true }), "running", "the agent has not reported it yet");
  for (const fields of [{}, { result: "" }, { result: "", meta: { acp: { status: "failed" } } }]) assert.equal(callStatus(call(fields), denied), "denied");
  assert.equal(callStatus(call({ result: "" }), idle), "done");
  for (const meta of [{ acp: { status: "failed" } }, { claude: { isError: true } }, { copilot: { success: false } }, { codex: { exitCode: 1 } }]) {
    assert.equal(callStatus(call({ result: "", meta }), idle), "failed", JSON.stringify(meta));
  }
});

test("changes are read from metadata, patches and arguments", () => {
  assert.deepEqual(readDiffs(call({ meta: { acp: { diffs: [{ path: "a", oldText: "1", newText: "2" }, { path: "b", newText: "new" },
    { tooLarge: true }] } } })),
    [{ path: "a", oldText: "1", newText: "2" }, { path: "b", oldText: undefined, newText: "new" }]);
  assert.deepEqual(readDiffs(call({ meta: { opencode: { diff: "--- a\n+++ a\n@@ -1 +1 @@\n-1\n+2" } } })), [{ patch: "--- a\n+++ a\n@@ -1 +1 @@\n-1\n+2" }]);
  assert.deepEqual(readDiffs(call({ args: '{"file_path":"a","old_string":"1","new_string":"2"}' })), [{ path: "a", oldText: "1", newText: "2" }]);
  assert.deepEqual(readDiffs(call({ args: '{"city":"Oslo"}', meta: { copilot: { detail: "It is cold." } } })), []);
});

test("arguments are summarized, also while they are incomplete", () => {
  assert.equal(summarizeArguments('{"path":"notes.txt","depth":2}'), "path=notes.txt, depth=2");
  assert.equal(summarizeArguments('{"path":"no'), '{"path":"no');
});

test("the console tool can be called with its defaults", () => {
  const [{ tool }] = CONSOLE_TOOLS, { question, options } = tool.parameters.properties;
  assert.deepEqual(readQuestion(JSON.stringify({ question: question.default, options: options.default })),
    { text: question.default, options: options.default.map((label) => ({ label, about: undefined })) });
  assert.deepEqual(readQuestion("{"), { text: "Pick one", options: [] });
  const described = [{ label: "Postgres", description: "For many writers." }, { odd: 1 }];
  assert.deepEqual(readQuestion(JSON.stringify({ question: "Which?", options: described })).options,
    [{ label: "Postgres", about: "For many writers." }, { label: '{"odd":1}', about: undefined }]);
  assert.deepEqual([isConsoleTool("pick_option"), isConsoleTool("mcp__client__pick_option"), isConsoleTool("rm")], [true, true, false]);
});

test("unanswered calls of console tools are still pending after a reload", () => {
  const called = (id) => ({ id: `a-${id}`, role: "assistant", toolCalls: [{ id, function: { name: "pick_option", arguments: "{}" } }] });
  const user = { id: "u", role: "user", content: "frontend" }, answer = { id: "t", role: "tool", toolCallId: "1", content: "Tea" };
  assert.deepEqual(pendingConsoleCalls([user, called("1")]), ["1"]);
  assert.deepEqual(pendingConsoleCalls([user, called("1"), answer]), []);
  assert.deepEqual(pendingConsoleCalls([called("1"), user]), []);
  assert.deepEqual(pendingConsoleCalls([]), []);
});

test("a patch is applied completely or not at all, and never in place", () => {
  const before = Object.freeze({ list: Object.freeze([1, 2, 3]), deep: Object.freeze({ "a/b": 1 }) });
  assert.deepEqual(applyPatch(before, [{ op: "add", path: "/list/1", value: 9 }, { op: "remove", path: "/list/0" },
    { op: "replace", path: "/deep/a~1b", value: 2 }]), { list: [9, 2, 3], deep: { "a/b": 2 } });
  assert.deepEqual(applyPatch(before, [{ op: "move", from: "/list/0", path: "/first" }, { op: "copy", from: "/first", path: "/list/-" }]),
    { list: [2, 3, 1], deep: { "a/b": 1 }, first: 1 });
  assert.equal(applyPatch(before, [{ op: "remove", path: "/list/0" }, { op: "test", path: "/list/0", value: 7 }]), undefined);
  for (const malformed of [null, {}, [null], [{}], [{ op: "add", path: "x" }], [{ op: "add", path: "/list/9", value: 1 }],
    [{ op: "replace", path: "/none", value: 1 }]]) assert.equal(applyPatch(before, malformed), undefined);
});

test("a patch never reaches a prototype", () => {
  const result = applyPatch({}, [{ op: "add", path: "/__proto__", value: { polluted: true } }]);
  assert.equal({}.polluted, undefined);
  assert.deepEqual(Object.keys(result), ["__proto__"]);
});

test("a shell reads the curl command correctly, with all quotes", () => {
  const body = { say: "it's `here` $HOME \\ \"quoted\"\nnext" };
  const output = spawnSync("sh", ["-c", toCurl("http://localhost/a b", { body, token: true }).replace(/^curl -N/, 'printf "%s\\n"')],
    { encoding: "utf8", env: { AGUI_GATEWAY_TOKEN: "t" } });
  assert.ok(output.stdout.includes(JSON.stringify(body)), output.stdout);
  assert.ok(output.stdout.includes("authorization: Bearer t"));
});
