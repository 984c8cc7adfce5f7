// What a run may ask for, read from the snapshot.
import assert from "node:assert/strict";
import { test } from "node:test";

import { describeOption, formSchema, isOffered, readOptions, readValues } from "../../gateway/console/lib/run_options.js";

test("options come from the snapshot; of a gateway that states none, from the agent's list", () => {
  const capabilities = { custom: { gateway: { options: { cwd: true, skills: false } } } };
  assert.deepEqual(readOptions(capabilities, ["model"]), { cwd: true, skills: false });
  assert.deepEqual(readOptions({}, ["model"]), { model: true });
});

test("what is refused or not known is not offered", () => {
  assert.deepEqual([true, {}, false, undefined, null].map(isOffered), [true, true, false, false, false]);
  assert.equal(formSchema({ approvals: false, maxTurns: undefined }), null);
});

test("a budget has its range, approvals their values, MCP servers their transports", () => {
  const { properties } = formSchema({ thinkingBudgetTokens: { min: 1024, max: 31999 }, approvals: { values: ["prompt", "deny"] },
    mcpServers: { transports: ["stdio"], unknown: ["http", "sse"] }, maxTurns: true, effort: { values: [] } });
  assert.deepEqual(Object.keys(properties), ["approvals", "thinkingBudgetTokens", "maxTurns", "mcpServers"]);
  assert.deepEqual([properties.thinkingBudgetTokens.minimum, properties.thinkingBudgetTokens.maximum], [1024, 31999]);
  assert.deepEqual(properties.approvals.enum, ["prompt", "deny"]);
  assert.match(properties.mcpServers.description, /over stdio\. Not known: http, sse\./);
});

test("values have their names, their descriptions and what the agent gets", () => {
  assert.deepEqual(readValues({ values: [{ id: "plan", name: "Plan", description: "Reads only." }, { id: "max", native: "xhigh" }, "text"] }), [
    { id: "plan", name: "Plan", description: "Reads only." }, { id: "max", name: "max", description: "Sent to the agent as “xhigh”" },
    { id: "text", name: "text" }]);
});

test("an option is described in words", () => {
  assert.equal(describeOption("cwd", true), "yes");
  assert.equal(describeOption("skills", false), "no");
  assert.equal(describeOption("mode", undefined), "not known yet");
  assert.equal(describeOption("model", { values: ["a"], open: true }), "1 model, and others by their id");
  assert.equal(describeOption("effort", { values: [{ id: "low", native: "low" }, { id: "max", native: "xhigh" }] }), "low, max (xhigh)");
  assert.equal(describeOption("thinkingBudgetTokens", { min: 1, max: 9 }), "1 to 9 tokens");
});
