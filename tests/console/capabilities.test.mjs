// What the chat offers, read from the capability snapshot.
import assert from "node:assert/strict";
import { test } from "node:test";

import { acceptedModalities, acceptsClientTools, canFork, deliveryModes, hasReasoning, listPickers, partType, readSession, readWorktree, suggestedMessages,
  sumTokens } from "../../gateway/console/chat/capabilities.js";

const MODES = { current: "ask", available: [{ id: "ask", name: "Ask" }, { id: "auto", name: "Auto" }] };

test("an empty snapshot offers nothing", () => {
  for (const unknown of [undefined, {}, { multimodal: {} }, { custom: { session: {} } }]) {
    assert.deepEqual([acceptedModalities(unknown), listPickers(unknown), readSession(unknown).commands, deliveryModes(unknown)], [[], [], [], []]);
    assert.deepEqual([hasReasoning(unknown), acceptsClientTools(unknown), canFork(unknown)], [false, false, false]);
  }
});

test("attach buttons match the modalities that the agent accepts", () => {
  const capabilities = { multimodal: { input: { image: true, audio: false, pdf: true } } };
  assert.deepEqual(acceptedModalities(capabilities).map(({ key }) => key), ["image", "pdf"]);
  assert.deepEqual(["image/png", "audio/wav", "application/pdf", "text/plain"].map((type) => partType(type, capabilities)), ["image", null, "document", null]);
});

test("an image for an agent that accepts files but no images is sent as a file", () => {
  assert.equal(partType("image/png", { multimodal: { input: { image: false, file: true } } }), "document");
});

test("the session's modes are a picker that is set by its route", () => {
  const [mode] = listPickers({ custom: { session: { modes: MODES } } });
  assert.deepEqual([mode.id, mode.current, mode.set, mode.options.length], ["mode", "ask", "mode", 2]);
  assert.equal(listPickers({ custom: { session: { modes: MODES } } }, { selected: { mode: "auto" } })[0].current, "auto");
});

test("models come from the session, else from the registry if a run may name one", () => {
  const models = [{ modelId: "big", displayName: "Big", isDefault: true, thinkingEffortLevels: ["low", "high"] }, { modelId: "old", deprecated: true }];
  assert.deepEqual(listPickers({}, { models }), []);
  const offers = { model: { values: ["big", "old", "listed"], open: false }, effort: { values: [{ id: "low", native: "minimal" }] } };
  const [model, effort] = listPickers({}, { models, offers });
  assert.deepEqual([model.current, model.options.map(({ name }) => name)], ["big", ["Big", "old (deprecated)", "listed"]]);
  assert.deepEqual(effort.options.map(({ id, description }) => [id, description]), [["", undefined], ["low", "Sent to the agent as “minimal”"]]);
  const [, chosen] = listPickers({}, { models, offers, selected: { model: "big" } });
  assert.deepEqual(chosen.options.map(({ id }) => id), ["", "low", "high"], "the levels of the model that was chosen");
  const capabilities = { custom: { session: { models: { current: "s", available: [{ id: "s", name: "S" }] } } } };
  assert.deepEqual(listPickers(capabilities, { models, offers: { model: true } }).map(({ current, set }) => [current, set]), [["s", "model"]]);
  assert.deepEqual(listPickers(capabilities, { models, offers: { model: false } }), []);
});

test("the session's own options are pickers; mode and model are not listed twice", () => {
  const config = [
    { id: "effort", name: "Effort", category: "thought_level", type: "select", value: "low", options: [{ value: "low", name: "Low" }] },
    { id: "web", name: "Web", type: "boolean", value: false, options: [] }, { id: "mode", category: "mode", type: "select", options: [{ value: "ask" }] }];
  const result = listPickers({ custom: { session: { config } } }, { offers: { effort: true } });
  assert.deepEqual(result.map(({ id, current }) => [id, current]), [["config:effort", "low"], ["config:web", "false"]]);
});

test("a message reaches a live run only where the gateway declares it", () => {
  const withDelivery = (delivery) => ({ custom: { relay: { delivery } } });
  assert.deepEqual(deliveryModes(withDelivery({ modes: ["on-idle"], queue: false })), []);
  assert.deepEqual(deliveryModes(withDelivery({ modes: ["immediate", "on-idle"], queue: true })), ["on-idle", "immediate"]);
  assert.deepEqual(deliveryModes(withDelivery({ modes: ["immediate", "on-idle", "next-tool-call"], queue: true })), ["on-idle", "next-tool-call", "immediate"]);
});

test("texts in backticks in the description are suggested as messages", () => {
  assert.deepEqual(suggestedMessages({ identity: { description: "Shows all: say `help` or `think`." } }), [{ text: "help" }, { text: "think" }]);
  const commands = [{ name: "help" }, { name: "init", description: "Begins." }, { name: "review", hint: "a file" }];
  const capabilities = { identity: { description: "Say `help`." }, custom: { session: { commands } } };
  assert.deepEqual(suggestedMessages(capabilities), [{ text: "help" }, { text: "/init", about: "Begins." }], "no command with arguments, none twice");
});

test("tokens are summed over models", () => {
  assert.deepEqual(sumTokens([{ model: "a", inputTokens: 1, outputTokens: 2 }, { inputTokens: 10 }]), { inputTokens: 11, outputTokens: 2 });
});

test("a worktree is shown only with its branch", () => {
  const worktree = { branch: "agui/fix-1", path: "/w", base: "main" };
  assert.equal(readWorktree({ custom: { gateway: { worktree } } }), worktree);
  for (const none of [undefined, {}, { custom: { gateway: { worktree: {} } } }, { custom: { gateway: { worktree: "x" } } }]) assert.equal(readWorktree(none), null);
});
