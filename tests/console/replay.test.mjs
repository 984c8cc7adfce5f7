// How a reload rebuilds finished runs.
import assert from "node:assert/strict";
import { test } from "node:test";

globalThis.sessionStorage = { getItem: () => null, setItem() {}, removeItem() {} };
const { EventLog } = await import("../../gateway/console/chat/event_log.js");
const { Model } = await import("../../gateway/console/chat/model.js");
const { loadRuns, replayThread } = await import("../../gateway/console/chat/replay.js");

const question = (id, content = id) => ({ id, role: "user", content });
const answer = (id, content = id) => ({ id, role: "assistant", content });
const started = (runId) => ({ type: "RUN_STARTED", threadId: "t", runId });
const textEvents = (messageId, delta = messageId) => [{ type: "TEXT_MESSAGE_START", messageId }, { type: "TEXT_MESSAGE_CONTENT", messageId, delta },
  { type: "TEXT_MESSAGE_END", messageId }];
const finished = { type: "RUN_FINISHED", outcome: { type: "success" }, usage: [{ inputTokens: 1, outputTokens: 2 }] };
const failed = { type: "RUN_ERROR", message: "broke", code: "X" };
const run = (runId, messageId, ...events) => ({ runId, messageId, whole: true, entries: events.flat().map((event, index) => ({ number: index + 1, event })) });
const summary = (model) => model.items.map(({ kind, id, text, message }) => `${kind}:${kind === "notice" ? message : text ?? id}`);

test("an error follows the message of its run, also if the run had no other output", () => {
  const model = new Model();
  replayThread(model, [question("u1"), question("u2"), answer("a2")],
    [run("r1", "u1", started("r1"), failed), run("r2", "u2", started("r2"), textEvents("a2"), finished)]);
  assert.deepEqual(summary(model), ["message:u1", "run:r1", "notice:broke", "message:u2", "message:a2", "run:r2"]);
  assert.equal(model.find("notice", 1).retryText, "u1");
  assert.deepEqual([model.live, model.replaying], [false, false]);
});

test("older runs are loaded as messages, and no message appears twice", () => {
  const model = new Model(), messages = [question("u1"), answer("a1"), question("u2"), answer("a2")];
  replayThread(model, messages, [run("r2", "u2", started("r2"), textEvents("a2"), finished)]);
  replayThread(model, messages, []);
  assert.deepEqual(summary(model), ["message:u1", "message:a1", "message:u2", "message:a2", "run:r2"]);
});

test("a log that is readable only later adds nothing to loaded messages", () => {
  const model = new Model(), messages = [question("u1"), answer("a1")];
  replayThread(model, messages, [{ runId: "r1", messageId: "u1", entries: [], whole: false }]);
  replayThread(model, messages, [run("r1", "u1", started("r1"), textEvents("a1"), finished)]);
  assert.deepEqual(summary(model), ["message:u1", "message:a1", "run:r1"]);
});

test("runs of other clients are added at the end", () => {
  const model = new Model();
  replayThread(model, [question("u1"), answer("a1")], [run("r1", "u1", started("r1"), textEvents("a1"), finished)]);
  replayThread(model, [question("u1"), answer("a1"), question("u2"), answer("a2")], [run("r2", "u2", started("r2"), textEvents("a2"), finished)]);
  assert.deepEqual(summary(model), ["message:u1", "message:a1", "run:r1", "message:u2", "message:a2", "run:r2"]);
});

test("a call that a later run approved appears once, with its result", () => {
  const model = new Model(), call = { id: "c", type: "function", function: { name: "delete", arguments: "{}" } };
  const interrupted = [started("r1"), { type: "TOOL_CALL_START", toolCallId: "c", toolCallName: "delete", parentMessageId: "a1" },
    { type: "TOOL_CALL_ARGS", toolCallId: "c", delta: "{}" }, { type: "TOOL_CALL_END", toolCallId: "c" },
    { type: "RUN_FINISHED", outcome: { type: "interrupt", interrupts: [{ id: "i", toolCallId: "c" }] } }];
  const messages = [question("u1"), { id: "a1", role: "assistant", toolCalls: [call] }, { id: "t1", role: "tool", toolCallId: "c", content: "gone" },
    answer("a2")];
  replayThread(model, messages, [run("r1", "u1", interrupted),
    run("r2", "a1", started("r2"), { type: "TOOL_CALL_RESULT", messageId: "t1", toolCallId: "c", content: "gone" }, textEvents("a2"), finished)]);
  assert.deepEqual(summary(model), ["message:u1", "tool:c", "run:r1", "message:a2", "run:r2"]);
  assert.deepEqual([model.find("tool", "c").args, model.find("tool", "c").result, model.interrupts], ["{}", "gone", []]);
});

const sse = (events, first = 1) => new Response(events.map((event, index) => `id: ${first + index}\ndata: ${JSON.stringify(event)}\n\n`).join(""),
  { headers: { "content-type": "text/event-stream" } });

test("logs are read once, long ones only at the end; missing logs and logs of other threads are ignored", async () => {
  const requests = [], eventLog = new EventLog();
  globalThis.fetch = async (path) => {
    requests.push(path);
    if (path.includes("gone")) return new Response("{}", { status: 404 });
    if (path.includes("foreign")) return sse([{ ...started("foreign"), threadId: "another" }, failed]);
    return path.includes("long") ? sse([failed], 90_000) : sse([started("new"), failed]);
  };
  eventLog.add({ number: 1, event: failed }, "received");
  const runs = [{ runId: "long", status: "failed", events: 90_000 }, { runId: "gone", status: "finished", events: 3 },
    { runId: "received", status: "failed", events: 1 }, { runId: "foreign", status: "failed", events: 2 }, { runId: "new", status: "failed", events: 2 }];
  const loaded = await loadRuns({ threadId: "t", runs }, eventLog, undefined);
  assert.deepEqual(loaded.map(({ runId, entries, whole }) => [runId, entries.length, whole]),
    [["long", 1, false], ["gone", 0, false], ["foreign", 0, false], ["new", 2, true]]);
  assert.deepEqual(requests.filter((path) => !path.includes("foreign")).sort(),
    ["runs/gone/events?after=0&protocol=1", "runs/long/events?after=89999&protocol=1", "runs/new/events?after=0&protocol=1"]);
});
