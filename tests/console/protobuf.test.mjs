// The console's protobuf decoder, tested with the official vectors.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { decodeEvent, FrameSplitter, toHex } from "../../gateway/console/chat/protobuf.js";

const vectors = readFileSync(new URL("../vectors/events.jsonl", import.meta.url),
  "utf8").trim().split("\n").map((line) => JSON.parse(line)).filter((vector) => vector.proto_hex);
const fromHex = (text) => Uint8Array.from(text.match(/../g) ?? [], (digits) => parseInt(digits, 16));
/** Members that no protobuf message has. */
const UNKNOWN = ["note"];
const EMPTY_LISTS = ["usage", "toolCalls", "pendingToolCallIds", "interruptIds"];

/** Normalises an event: protobuf cannot distinguish empty lists from absent ones, and an input always has its lists. */
function comparable(value, key = "") {
  if (Array.isArray(value)) return value.map((item) => comparable(item));
  if (typeof value !== "object" || value === null) return typeof value === "string" ? value.toWellFormed?.() ?? value : value;
  const entries = Object.entries(value).filter(([name, member]) => member !== undefined && !UNKNOWN.includes(name)
    && !(EMPTY_LISTS.includes(name) && Array.isArray(member) && !member.length));
  const result = Object.fromEntries(entries.map(([name, member]) => [name, comparable(member, name)]));
  return key === "input" ? { tools: [], context: [], resume: [], ...result } : result;
}

test("there is a vector for every event type", () => {
  assert.ok(new Set(vectors.map(({ event }) => event.type)).size >= 31);
});

for (const { name, sse, proto_hex: frame } of vectors) {
  test(`decodes ${name}`, () => {
    const [content] = new FrameSplitter().feed(fromHex(frame));
    assert.deepEqual(comparable(decodeEvent(content)), comparable(JSON.parse(sse.slice("data: ".length))));
  });
}

test("frames are complete for any split of the bytes", () => {
  const all = fromHex(vectors.slice(0, 20).map((vector) => vector.proto_hex).join(""));
  const whole = new FrameSplitter().feed(all).map(toHex);
  assert.equal(whole.length, 20);
  for (const size of [1, 3, 7, 64]) {
    const splitter = new FrameSplitter(), frames = [];
    for (let from = 0; from < all.length; from += size) frames.push(...splitter.feed(all.subarray(from, from + size)));
    assert.deepEqual(frames.map(toHex), whole);
  }
});

test("an unknown event type gives null; truncated bytes are an error", () => {
  assert.equal(decodeEvent(fromHex("fa0702080a")), null);
  assert.throws(() => decodeEvent(fromHex("0a10")), RangeError);
});
