// The chat model: events in, items out.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";

import { Model } from "../../gateway/console/chat/model.js";

const started = { type: "RUN_STARTED", threadId: "t", runId: "r" };
const modelOf = (...events) => {
  const model = new Model();
  for (const event of [started, ...events]) model.feed(event);
  return model;
};
const itemKeys = (model) => model.items.map(({ kind, id }) => `${kind}:${id}`);

test("deltas become one message, closed at its end", () => {
  const model = modelOf(
    { type: "TEXT_MESSAGE_START", messageId: "m" }, { type: "TEXT_MESSAGE_CONTENT", messageId: "m", delta: "Hello" },
    { type: "TEXT_MESSAGE_CONTENT", messageId: "m", delta: " there" }, { type: "TEXT_MESSAGE_END", messageId: "m" });
  const [item] = model.items;
  assert.deepEqual([item.kind, item.role, item.text, item.open], ["message", "assistant", "Hello there", false]);
});

test("a delta marks only the item that it changes", () => {
  const model = modelOf({ type: "TEXT_MESSAGE_CONTENT", messageId: "a", delta: "1" }, { type: "TEXT_MESSAGE_CONTENT", messageId: "b", delta: "2" });
  model.changed.clear();
  model.feed({ type: "TEXT_MESSAGE_CONTENT", messageId: "a", delta: "3" });
  assert.deepEqual([...model.changed].map((item) => item.id), ["a"]);
});

test("parallel calls keep their arguments and results apart", () => {
  const model = modelOf(
    { type: "TOOL_CALL_START", toolCallId: "1", toolCallName: "get" }, { type: "TOOL_CALL_START", toolCallId: "2", toolCallName: "get" },
    { type: "TOOL_CALL_ARGS", toolCallId: "1", delta: '{"a"' }, { type: "TOOL_CALL_ARGS", toolCallId: "2", delta: '{"b"' },
    { type: "TOOL_CALL_ARGS", toolCallId: "1", delta: ":1}" }, { type: "TOOL_CALL_ARGS", toolCallId: "2", delta: ":2}" },
    { type: "TOOL_CALL_END", toolCallId: "1" }, { type: "TOOL_CALL_END", toolCallId: "2" },
    { type: "TOOL_CALL_RESULT", messageId: "x", toolCallId: "2", content: "two", metadata: { acp: { status: "completed" } } });
  assert.deepEqual(model.items.map(({ args, result }) => [args, result]), [['{"a":1}', undefined], ['{"b":2}', "two"]]);
  assert.equal(model.items[1].meta.acp.status, "completed");
});

test("output belongs to its tool call, and grows in place", () => {
  const model = modelOf(
    { type: "TOOL_CALL_START", toolCallId: "c", toolCallName: "make" },
    { type: "ACTIVITY_SNAPSHOT", messageId: "o", activityType: "tool_output", content: { toolCallId: "c", output: ["one\n"] } },
    { type: "ACTIVITY_DELTA", messageId: "o", activityType: "tool_output", patch: [{ op: "add", path: "/output/-", value: "two\n" }] });
  assert.deepEqual(itemKeys(model), ["tool:c"]);
  assert.deepEqual(model.items[0].outputs[0].content.output, ["one\n", "two\n"]);
  assert.ok(model.changed.has(model.items[0]));
});

test("a plan is patched; a patch that does not apply changes nothing", () => {
  const plan = { type: "ACTIVITY_SNAPSHOT", messageId: "p", activityType: "plan", content: { entries: [{ content: "Look", status: "pending" }] } };
  const model = modelOf(plan, { type: "ACTIVITY_DELTA", messageId: "p", patch: [{ op: "replace", path: "/entries/0/status", value: "completed" }] });
  assert.equal(model.items[0].content.entries[0].status, "completed");
  model.feed({ type: "ACTIVITY_DELTA", messageId: "p", patch: [{ op: "remove", path: "/entries/0" }, { op: "replace", path: "/no", value: 1 }] });
  assert.equal(model.items[0].content.entries.length, 1);
});

test("state: a snapshot, then patches, each a new value", () => {
  const model = modelOf({ type: "STATE_SNAPSHOT", snapshot: { steps: [], progress: 0 } });
  const before = model.state;
  model.feed({ type: "STATE_DELTA", delta: [{ op: "add", path: "/steps/-", value: "boil" }, { op: "replace", path: "/progress", value: 25 }] });
  assert.deepEqual([before, model.state], [{ steps: [], progress: 0 }, { steps: ["boil"], progress: 25 }]);
  model.feed({ type: "STATE_DELTA", delta: [{ op: "replace", path: "/nowhere", value: 1 }] });
  assert.deepEqual(model.state.progress, 25);
});

test("items of a subagent refer to it", () => {
  const model = modelOf(
    { type: "SUBAGENT_STARTED", subagentRunId: "s", name: "scout", description: "looks" },
    { type: "TEXT_MESSAGE_CONTENT", messageId: "m", delta: "Off!", subagentRunId: "s" }, { type: "SUBAGENT_FINISHED", subagentRunId: "s", result: 1 });
  assert.deepEqual(model.items.map(({ kind, subagent, state }) => [kind, subagent, state]), [["subagent", undefined, "done"], ["message", "s", undefined]]);
});

test("a run with interrupts sets them, a finished run removes them, a failed run keeps them", () => {
  const interrupted = { type: "RUN_FINISHED", outcome: { type: "interrupt", interrupts: [{ id: "i" }] } };
  assert.equal(modelOf(interrupted).interrupts.length, 1);
  assert.equal(modelOf(interrupted, { type: "RUN_ERROR", message: "no" }).interrupts.length, 1);
  assert.equal(modelOf(interrupted, started, { type: "RUN_FINISHED" }).interrupts.length, 0);
});

test("calls of client tools are pending until they have a result", () => {
  const model = modelOf({ type: "TOOL_CALL_START", toolCallId: "c", toolCallName: "pick" },
    { type: "RUN_FINISHED", outcome: { type: "success", pendingToolCallIds: ["c"] } });
  assert.deepEqual(model.pending, ["c"]);
  model.addMessage({ id: "a", role: "tool", toolCallId: "c", content: "Tea" });
  assert.deepEqual([model.pending, model.items[0].result], [[], "Tea"]);
});

test("errors, usage, cost and warnings become items", () => {
  const model = modelOf(
    { type: "CUSTOM", name: "cost", value: { usd: 0.25 } }, { type: "CUSTOM", name: "gateway.warning", value: { code: "X", message: "careful" } },
    { type: "CUSTOM", name: "demo.confetti", value: 1 }, { type: "RAW", event: {} },
      { type: "RUN_ERROR", message: "broken", code: "B", usage: [{ inputTokens: 3 }] });
  assert.deepEqual(model.items.map(({ kind, message, name, cost }) => [kind, message ?? name ?? cost]),
    [["notice", "careful"], ["custom", "demo.confetti"], ["run", 0.25], ["notice", "broken"]]);
  assert.equal(model.live, false);
});

test("the messages of a thread become the same items", () => {
  const model = new Model();
  model.load([
    { id: "u", role: "user", content: [{ type: "text", text: "look" }, { type: "image", source: { type: "data", value: "", mimeType: "image/png" } }] },
    { id: "q", role: "reasoning", content: "hm" },
    { id: "a", role: "assistant", content: "Yes", toolCalls: [{ id: "c", type: "function", function: { name: "see", arguments: "{}" } }] },
    { id: "t", role: "tool", toolCallId: "c", content: "seen", metadata: { acp: { diffs: [] } } },
    { id: "p", role: "activity", activityType: "plan", content: { entries: [] } }], { n: 1 });
  assert.deepEqual(itemKeys(model), ["message:u", "reasoning:q", "message:a", "tool:c", "activity:p"]);
  assert.deepEqual([model.items[0].text, model.items[3].result, model.state], ["look", "seen", { n: 1 }]);
});

test("a messages snapshot removes missing items and keeps the others", () => {
  const model = modelOf({ type: "TEXT_MESSAGE_CONTENT", messageId: "a", delta: "1" }, { type: "TEXT_MESSAGE_CONTENT", messageId: "b", delta: "2" });
  const before = model.epoch;
  model.feed({ type: "MESSAGES_SNAPSHOT", messages: [{ id: "b", role: "assistant", content: "two" }, { id: "c", role: "assistant", content: "three" }] });
  assert.deepEqual([itemKeys(model), model.items[0].text], [["message:b", "message:c"], "two"]);
  assert.notEqual(model.epoch, before);
});

test("every recorded stream ends without open items", () => {
  const folder = new URL("../vectors/", import.meta.url);
  const streams = readFileSync(new URL("good-sequences.jsonl", folder), "utf8").trim().split("\n").map((line) => JSON.parse(line));
  assert.ok(streams.length > 5);
  for (const { events, name } of streams) {
    const model = new Model();
    for (const event of events) model.feed(event);
    if (["RUN_FINISHED", "RUN_ERROR"].includes(events.at(-1)?.type)) assert.ok(!model.items.some((item) => item.open), name);
  }
});

test("no order or shape of events causes an exception", () => {
  const events = readFileSync(new URL("../vectors/events.jsonl", import.meta.url), "utf8").trim().split("\n").map((line) => JSON.parse(line).event);
  const random = seeded(20261116), pick = (all) => all[Math.floor(random() * all.length)];
  const oddValues = [null, undefined, 0, -1, "", "x", [], [null], {}, { a: null }, true, "m1", "__proto__"];
  for (let round = 0; round < 300; round += 1) {
    const model = new Model();
    for (let count = 0; count < 60; count += 1) {
      const event = { ...pick(events) };
      if (random() < 0.4) event[pick(Object.keys(event).filter((key) => key !== "type"))] = pick(oddValues);
      model.feed(event);
      if (random() < 0.05) model.load(pick(oddValues), pick(oddValues));
    }
  }
  for (const value of oddValues) new Model().feed(value);
});

test("twenty thousand deltas cost a few milliseconds", () => {
  const model = modelOf({ type: "TEXT_MESSAGE_START", messageId: "m" }), start = performance.now();
  for (let number = 0; number < 20_000; number += 1) model.feed({ type: "TEXT_MESSAGE_CONTENT", messageId: "m", delta: `${number} ` });
  assert.ok(model.items[0].text.length > 100_000);
  assert.ok(performance.now() - start < 500);
});

test("the recordings of agents produce all kinds of items", () => {
  const folder = new URL("../replay/goldens/", import.meta.url);
  const kinds = new Set();
  for (const file of readdirSync(folder).filter((name) => name.endsWith(".json"))) {
    const model = new Model();
    walk(JSON.parse(readFileSync(new URL(file, folder), "utf8")), (event) => model.feed(event));
    for (const item of model.items) kinds.add(item.kind);
  }
  for (const kind of ["message", "tool", "reasoning", "subagent", "notice"]) assert.ok(kinds.has(kind), kind);
});

function walk(value, onEvent) {
  if (typeof value !== "object" || value === null) return;
  if (typeof value.type === "string" && /^[A-Z_]+$/.test(value.type)) onEvent(value);
  else for (const member of Object.values(value)) walk(member, onEvent);
}

function seeded(seed) {
  return () => ((seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) / 2 ** 32);
}
