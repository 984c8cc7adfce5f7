// How the chat reads interrupts.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";

import { editSchema, readInterrupt, timeLeft } from "../../gateway/console/chat/interrupts.js";

const approval = { type: "object", properties: { approved: { type: "boolean" },
  editedArgs: { type: "object", properties: { path: { type: "string" } } } }, required: ["approved"] };

test("an approval has approve and deny, and changed arguments if the agent accepts them", () => {
  const { choices, edits } = readInterrupt({ id: "i", message: "May I?", responseSchema: approval });
  assert.deepEqual(choices.map(({ label, payload }) => [label, payload]), [["Approve", { approved: true }], ["Deny", { approved: false }]]);
  assert.equal(edits, approval.properties.editedArgs);
});

test("the agent's own options keep their labels, without an approve button beside them", () => {
  const optionId = { enum: ["a", "b", "r"], oneOf: [{ const: "a", title: "Allow" }, { const: "b", title: "Always" }, { const: "r", title: "No" }] };
  const metadata = { acp: { options: [{ optionId: "a", kind: "allow_once" }, { optionId: "b", kind: "allow_always" },
    { optionId: "r", kind: "reject_once" }] } };
  const { choices, edits } = readInterrupt({ id: "i", metadata,
    responseSchema: { properties: { approved: {}, optionId, editedArgs: {} }, not: { required: ["editedArgs"] } } });
  assert.deepEqual(choices.map(({ label, payload, kind, always }) => [label, payload.optionId, kind, always]),
    [["Allow", "a", "allow", false], ["Always", "b", "allow", true], ["No", "r", "reject", false]]);
  assert.equal(edits, undefined);
});

test("optional fields of an approval are offered as feedback", () => {
  const { extra } = readInterrupt({ id: "i", responseSchema: { properties: { approved: {}, feedback: { type: "string" } } } });
  assert.deepEqual(Object.keys(extra.properties), ["feedback"]);
});

test("any other schema is a form; without a schema, no means cancel", () => {
  const schema = { type: "object", properties: { name: { type: "string" } } };
  assert.equal(readInterrupt({ id: "i", responseSchema: schema }).form, schema);
  assert.deepEqual(readInterrupt({ id: "i" }).choices.map(({ payload, cancels }) => [payload, cancels]), [[undefined, undefined], [undefined, true]]);
});

test("arguments without a schema get fields from their values", () => {
  const { properties } = editSchema({ type: "object" }, { path: "a", depth: 2, deep: { x: 1 }, ok: true, text: "one\ntwo" });
  assert.deepEqual(Object.values(properties).map(({ type }) => type), ["string", "integer", undefined, "boolean", "string"]);
  assert.equal(editSchema(approval.properties.editedArgs, {}), approval.properties.editedArgs);
});

test("the time left is given in two units", () => {
  const at = (seconds) => new Date(seconds * 1000).toISOString();
  assert.deepEqual([3599, 60, 59, 7200, 90_000].map((seconds) => timeLeft(at(seconds), 0).text),
    ["59 min 59 s left", "1 min left", "59 s left", "2 h left", "1 d 1 h left"]);
  assert.equal(timeLeft(at(1), 1000).expired, true);
  assert.equal(timeLeft("soon", 0), null);
});

test("every recorded interrupt can be answered", () => {
  const folder = new URL("../replay/goldens/", import.meta.url);
  let count = 0;
  for (const file of readdirSync(folder).filter((name) => name.endsWith(".json"))) {
    walk(JSON.parse(readFileSync(new URL(file, folder), "utf8")), (interrupt) => {
      const { choices, form } = readInterrupt(interrupt);
      assert.ok(choices.length > 0 || form, file);
      count += 1;
    });
  }
  assert.ok(count > 20);
});

function walk(value, onInterrupt) {
  if (typeof value !== "object" || value === null) return;
  if ("responseSchema" in value && "reason" in value) onInterrupt(value);
  else for (const member of Object.values(value)) walk(member, onInterrupt);
}
