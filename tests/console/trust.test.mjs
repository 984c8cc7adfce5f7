// How the chat reads workspace trust.
import assert from "node:assert/strict";
import { test } from "node:test";

import { readInterrupt } from "../../gateway/console/chat/interrupts.js";
import { readConfiguration, readTrust } from "../../gateway/console/chat/trust_facts.js";

const snapshot = (trust) => ({ custom: { gateway: { trust } } });

test("the snapshot's state has a label, and says who decided", () => {
  const trusted = readTrust(snapshot({ state: "trusted", folder: "/src", decidedBy: "operator" }));
  assert.deepEqual([trusted.label, trusted.kind], ["Trusted", "good"]);
  assert.match(trusted.about, /\/src · decided by the operator$/);
  assert.equal(readTrust(snapshot({ state: "unknown", folder: "/src", decidedBy: "none" })).label, "Not trusted yet");
});

test("without a known state there is no tag", () => {
  for (const unknown of [undefined, {}, snapshot({}), snapshot({ state: "else" }), snapshot([])]) assert.equal(readTrust(unknown), null);
});

const item = (file, key) => ({ file, kind: "hook", key, text: "touch x" });

test("the question's configuration is grouped by file", () => {
  const trust = { folders: [{ folder: "/src", configuration: [item("a", "1"), item("b", "2"), item("a", "3")] }] };
  const [{ folder, files }] = readConfiguration({ reason: "gateway:workspace_trust", metadata: { trust } });
  assert.equal(folder, "/src");
  assert.deepEqual(files.map(({ file, items }) => [file, items.map(({ key }) => key)]), [["a", ["1", "3"]], ["b", ["2"]]]);
});

test("another interrupt has no configuration, and a broken one is empty", () => {
  assert.equal(readConfiguration({ reason: "tool_call", metadata: { trust: { folders: [{}] } } }), null);
  assert.deepEqual(readConfiguration({ reason: "gateway:workspace_trust", metadata: { trust: { folders: "x" } } }), []);
});

test("the three answers are buttons", () => {
  const ids = ["trust_once", "trust_always", "reject_once"], kinds = ["allow_once", "allow_always", "reject_once"];
  const optionId = { enum: ids, oneOf: ids.map((id) => ({ const: id, title: id })) };
  const metadata = { trust: { options: ids.map((id, index) => ({ optionId: id, kind: kinds[index] })) } };
  const { choices } = readInterrupt({ id: "i", metadata, responseSchema: { properties: { optionId } } });
  assert.deepEqual(choices.map(({ payload, kind, always }) => [payload.optionId, kind, always]),
    [["trust_once", "allow", false], ["trust_always", "allow", true], ["reject_once", "reject", false]]);
});
