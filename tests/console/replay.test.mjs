// What a reload shows of runs that are over.
import assert from "node:assert/strict";
import { test } from "node:test";

globalThis.sessionStorage = { getItem: () => null, setItem() {}, removeItem() {} };
const { Journal } = await import("../../gateway/console/chat/event_log.js");
const { Model } = await import("../../gateway/console/chat/model.js");
const { readPast, retell } = await import("../../gateway/console/chat/replay.js");

const said = (id, content = id) => ({ id, role: "user", content });
const answer = (id, content = id) => ({ id, role: "assistant", content });
const started = (runId) => ({ type: "RUN_STARTED", threadId: "t", runId });
const words = (messageId, delta = messageId) => [{ type: "TEXT_MESSAGE_START", messageId }, { type: "TEXT_MESSAGE_CONTENT", messageId, delta }, { type: "TEXT_MESSAGE_END", messageId }];
const finished = { type: "RUN_FINISHED", outcome: { type: "success" }, usage: [{ inputTokens: 1, outputTokens: 2 }] };
const failed = { type: "RUN_ERROR", message: "broke", code: "X" };
const run = (runId, messageId, ...events) => ({ runId, messageId, whole: true, entries: events.flat().map((event, index) => ({ number: index + 1, event })) });
const shown = (model) => model.items.map(({ kind, id, text, words: told }) => `${kind}:${kind === "notice" ? told : text ?? id}`);

test("an error stands behind the message that it answered, also where the run said nothing", () => {
  const model = new Model();
  retell(model, [said("u1"), said("u2"), answer("a2")], [run("r1", "u1", started("r1"), failed), run("r2", "u2", started("r2"), words("a2"), finished)]);
  assert.deepEqual(shown(model), ["message:u1", "run:r1", "notice:broke", "message:u2", "message:a2", "run:r2"]);
  assert.equal(model.find("notice", 1).said, "u1");
  assert.deepEqual([model.live, model.past], [false, false]);
});

test("older runs come as messages, and no message comes twice", () => {
  const model = new Model(), messages = [said("u1"), answer("a1"), said("u2"), answer("a2")];
  retell(model, messages, [run("r2", "u2", started("r2"), words("a2"), finished)]);
  retell(model, messages, []);
  assert.deepEqual(shown(model), ["message:u1", "message:a1", "message:u2", "message:a2", "run:r2"]);
});

test("a log that could be read only later adds nothing to the messages that are there", () => {
  const model = new Model(), messages = [said("u1"), answer("a1")];
  retell(model, messages, [{ runId: "r1", messageId: "u1", entries: [], whole: false }]);
  retell(model, messages, [run("r1", "u1", started("r1"), words("a1"), finished)]);
  assert.deepEqual(shown(model), ["message:u1", "message:a1", "run:r1"]);
});

test("what others did comes behind what is here", () => {
  const model = new Model();
  retell(model, [said("u1"), answer("a1")], [run("r1", "u1", started("r1"), words("a1"), finished)]);
  retell(model, [said("u1"), answer("a1"), said("u2"), answer("a2")], [run("r2", "u2", started("r2"), words("a2"), finished)]);
  assert.deepEqual(shown(model), ["message:u1", "message:a1", "run:r1", "message:u2", "message:a2", "run:r2"]);
});

test("a call that was approved by the next run has one card with its result", () => {
  const model = new Model(), call = { id: "c", type: "function", function: { name: "delete", arguments: "{}" } };
  const asked = [started("r1"), { type: "TOOL_CALL_START", toolCallId: "c", toolCallName: "delete", parentMessageId: "a1" }, { type: "TOOL_CALL_ARGS", toolCallId: "c", delta: "{}" }, { type: "TOOL_CALL_END", toolCallId: "c" },
    { type: "RUN_FINISHED", outcome: { type: "interrupt", interrupts: [{ id: "i", toolCallId: "c" }] } }];
  const messages = [said("u1"), { id: "a1", role: "assistant", toolCalls: [call] }, { id: "t1", role: "tool", toolCallId: "c", content: "gone" }, answer("a2")];
  retell(model, messages, [run("r1", "u1", asked), run("r2", "a1", started("r2"), { type: "TOOL_CALL_RESULT", messageId: "t1", toolCallId: "c", content: "gone" }, words("a2"), finished)]);
  assert.deepEqual(shown(model), ["message:u1", "tool:c", "run:r1", "message:a2", "run:r2"]);
  assert.deepEqual([model.find("tool", "c").args, model.find("tool", "c").result, model.interrupts], ["{}", "gone", []]);
});

const sse = (events, first = 1) => new Response(events.map((event, index) => `id: ${first + index}\ndata: ${JSON.stringify(event)}\n\n`).join(""), { headers: { "content-type": "text/event-stream" } });

test("logs are read once; of one that is too long only the end; a lost one, or another thread's, is left to the messages", async () => {
  const asked = [], journal = new Journal();
  globalThis.fetch = async (path) => {
    asked.push(path);
    if (path.includes("gone")) return new Response("{}", { status: 404 });
    if (path.includes("theirs")) return sse([{ ...started("theirs"), threadId: "another" }, failed]);
    return path.includes("long") ? sse([failed], 90_000) : sse([started("new"), failed]);
  };
  journal.add({ number: 1, event: failed }, "heard");
  const runs = [{ runId: "long", status: "failed", events: 90_000 }, { runId: "gone", status: "finished", events: 3 }, { runId: "heard", status: "failed", events: 1 }, { runId: "theirs", status: "failed", events: 2 }, { runId: "new", status: "failed", events: 2 }];
  const past = await readPast({ threadId: "t", runs }, journal, undefined);
  assert.deepEqual(past.map(({ runId, entries, whole }) => [runId, entries.length, whole]), [["long", 1, false], ["gone", 0, false], ["theirs", 0, false], ["new", 2, true]]);
  assert.deepEqual(asked.filter((path) => !path.includes("theirs")).sort(), ["runs/gone/events?after=0&protocol=1", "runs/long/events?after=89999&protocol=1", "runs/new/events?after=0&protocol=1"]);
});
