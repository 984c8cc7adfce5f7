// Tool calls, the page's own tools, patches and commands for a shell: small readers of the chat.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";

import { diffsOf, inShort, statusOf } from "../../gateway/console/chat/tool_calls.js";
import { curl } from "../../gateway/console/chat/curl.js";
import { OWN_TOOLS, isOwn, ownPending, question } from "../../gateway/console/chat/client_tools.js";
import { patched } from "../../gateway/console/chat/json_patch.js";

const calm = { interrupts: [], pending: [], live: false };
const call = (more) => ({ id: "c", meta: {}, args: "", open: false, ...more });

test("how a call stands", () => {
  assert.equal(statusOf(call({ open: true }), { ...calm, live: true }), "writing");
  assert.equal(statusOf(call(), { ...calm, live: true }), "running");
  assert.equal(statusOf(call(), { ...calm, interrupts: [{ toolCallId: "c" }] }), "waiting");
  assert.equal(statusOf(call(), { ...calm, pending: ["c"] }), "waiting");
  assert.equal(statusOf(call(), calm), "unknown");
  assert.equal(statusOf(call({ result: "" }), calm), "done");
  for (const meta of [{ acp: { status: "failed" } }, { claude: { isError: true } }, { copilot: { success: false } }, { codex: { exitCode: 1 } }]) {
    assert.equal(statusOf(call({ result: "", meta }), calm), "failed", JSON.stringify(meta));
  }
});

test("a change is found where the agent told it", () => {
  assert.deepEqual(diffsOf(call({ meta: { acp: { diffs: [{ path: "a", oldText: "1", newText: "2" }, { path: "b", newText: "new" }, { tooLarge: true }] } } })),
    [{ path: "a", oldText: "1", newText: "2" }, { path: "b", oldText: undefined, newText: "new" }]);
  assert.deepEqual(diffsOf(call({ meta: { opencode: { diff: "--- a\n+++ a\n@@ -1 +1 @@\n-1\n+2" } } })), [{ patch: "--- a\n+++ a\n@@ -1 +1 @@\n-1\n+2" }]);
  assert.deepEqual(diffsOf(call({ args: '{"file_path":"a","old_string":"1","new_string":"2"}' })), [{ path: "a", oldText: "1", newText: "2" }]);
  assert.deepEqual(diffsOf(call({ args: '{"city":"Oslo"}', meta: { copilot: { detail: "It is cold." } } })), []);
});

test("arguments in short, also before they are whole", () => {
  assert.equal(inShort('{"path":"notes.txt","depth":2}'), "path=notes.txt, depth=2");
  assert.equal(inShort('{"path":"no'), '{"path":"no');
});

test("the page's own tool can be called with its defaults", () => {
  const [{ tool }] = OWN_TOOLS, { question: asked, options } = tool.parameters.properties;
  assert.deepEqual(question(JSON.stringify({ question: asked.default, options: options.default })), { words: asked.default, options: options.default });
  assert.deepEqual(question("{"), { words: "Pick one", options: [] });
  assert.deepEqual([isOwn("pick_option"), isOwn("mcp__client__pick_option"), isOwn("rm")], [true, true, false]);
});

test("calls of ours that nobody answered are still pending after a reload", () => {
  const called = (id) => ({ id: `a-${id}`, role: "assistant", toolCalls: [{ id, function: { name: "pick_option", arguments: "{}" } }] });
  const user = { id: "u", role: "user", content: "frontend" }, answer = { id: "t", role: "tool", toolCallId: "1", content: "Tea" };
  assert.deepEqual(ownPending([user, called("1")]), ["1"]);
  assert.deepEqual(ownPending([user, called("1"), answer]), []);
  assert.deepEqual(ownPending([called("1"), user]), []);
  assert.deepEqual(ownPending([]), []);
});

test("a patch is applied whole or not at all, and changes nothing in place", () => {
  const before = Object.freeze({ list: Object.freeze([1, 2, 3]), deep: Object.freeze({ "a/b": 1 }) });
  assert.deepEqual(patched(before, [{ op: "add", path: "/list/1", value: 9 }, { op: "remove", path: "/list/0" }, { op: "replace", path: "/deep/a~1b", value: 2 }]), { list: [9, 2, 3], deep: { "a/b": 2 } });
  assert.deepEqual(patched(before, [{ op: "move", from: "/list/0", path: "/first" }, { op: "copy", from: "/first", path: "/list/-" }]), { list: [2, 3, 1], deep: { "a/b": 1 }, first: 1 });
  assert.equal(patched(before, [{ op: "remove", path: "/list/0" }, { op: "test", path: "/list/0", value: 7 }]), undefined);
  for (const odd of [null, {}, [null], [{}], [{ op: "add", path: "x" }], [{ op: "add", path: "/list/9", value: 1 }], [{ op: "replace", path: "/none", value: 1 }]]) assert.equal(patched(before, odd), undefined);
});

test("a patch never reaches a prototype", () => {
  const made = patched({}, [{ op: "add", path: "/__proto__", value: { polluted: true } }]);
  assert.equal({}.polluted, undefined);
  assert.deepEqual(Object.keys(made), ["__proto__"]);
});

test("a shell reads the command as it was meant, quotes and all", () => {
  const body = { say: "it's `here` $HOME \\ \"quoted\"\nnext" };
  const told = spawnSync("sh", ["-c", curl("http://localhost/a b", { body, token: true }).replace(/^curl -N/, 'printf "%s\\n"')], { encoding: "utf8", env: { AGUI_GATEWAY_TOKEN: "t" } });
  assert.ok(told.stdout.includes(JSON.stringify(body)), told.stdout);
  assert.ok(told.stdout.includes("authorization: Bearer t"));
});
