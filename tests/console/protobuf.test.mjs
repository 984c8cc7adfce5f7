// The page's reader of AG-UI's protobuf, held against the official vectors.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { Cut, decode, hex } from "../../gateway/console/chat/protobuf.js";

const vectors = readFileSync(new URL("../vectors/events.jsonl", import.meta.url), "utf8").trim().split("\n").map((line) => JSON.parse(line)).filter((one) => one.proto_hex);
const bytes = (text) => Uint8Array.from(text.match(/../g) ?? [], (two) => parseInt(two, 16));
/** Members that no message has: protobuf drops them by design. */
const UNKNOWN = ["note"];
const EMPTIES = ["usage", "toolCalls", "pendingToolCallIds", "interruptIds"];

/** What protobuf cannot tell from absence is absent; what an input lacks reads back as empty lists; key order is free. */
function comparable(value, key = "") {
  if (Array.isArray(value)) return value.map((one) => comparable(one));
  if (typeof value !== "object" || value === null) return typeof value === "string" ? value.toWellFormed?.() ?? value : value;
  const entries = Object.entries(value).filter(([name, one]) => one !== undefined && !UNKNOWN.includes(name) && !(EMPTIES.includes(name) && Array.isArray(one) && !one.length));
  const made = Object.fromEntries(entries.map(([name, one]) => [name, comparable(one, name)]));
  return key === "input" ? { tools: [], context: [], resume: [], ...made } : made;
}

test("there is a vector of every kind of event", () => {
  assert.ok(new Set(vectors.map(({ event }) => event.type)).size >= 31);
});

for (const { name, sse, proto_hex: frame } of vectors) {
  test(`reads ${name}`, () => {
    const [inside] = new Cut().feed(bytes(frame));
    assert.deepEqual(comparable(decode(inside)), comparable(JSON.parse(sse.slice("data: ".length))));
  });
}

test("frames are found whatever the cut", () => {
  const all = bytes(vectors.slice(0, 20).map((one) => one.proto_hex).join(""));
  const whole = new Cut().feed(all).map(hex);
  assert.equal(whole.length, 20);
  for (const size of [1, 3, 7, 64]) {
    const cut = new Cut(), found = [];
    for (let from = 0; from < all.length; from += size) found.push(...cut.feed(all.subarray(from, from + size)));
    assert.deepEqual(found.map(hex), whole);
  }
});

test("an event of an unknown kind is passed over; bytes that end early are an error", () => {
  assert.equal(decode(bytes("fa0702080a")), null);
  assert.throws(() => decode(bytes("0a10")), RangeError);
});
