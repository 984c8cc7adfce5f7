// What the chat shows follows from the snapshot alone.
import assert from "node:assert/strict";
import { test } from "node:test";

import { deliveries, forks, modalities, openers, partType, pickers, reasons, session, takesTools, tokens } from "../../gateway/console/chat/capabilities.js";

const MODES = { current: "ask", available: [{ id: "ask", name: "Ask" }, { id: "auto", name: "Auto" }] };

test("an empty snapshot shows nothing", () => {
  for (const unknown of [undefined, {}, { multimodal: {} }, { custom: { session: {} } }]) {
    assert.deepEqual([modalities(unknown), pickers(unknown), session(unknown).commands, deliveries(unknown)], [[], [], [], []]);
    assert.deepEqual([reasons(unknown), takesTools(unknown), forks(unknown)], [false, false, false]);
  }
});

test("attach buttons are those of the modalities that the agent takes", () => {
  const capabilities = { multimodal: { input: { image: true, audio: false, pdf: true } } };
  assert.deepEqual(modalities(capabilities).map(({ key }) => key), ["image", "pdf"]);
  assert.deepEqual(["image/png", "audio/wav", "application/pdf", "text/plain"].map((type) => partType(type, capabilities)), ["image", null, "document", null]);
});

test("a picture for an agent that takes files but no images goes as a file", () => {
  assert.equal(partType("image/png", { multimodal: { input: { image: false, file: true } } }), "document");
});

test("the session's modes are a picker that is set by its route", () => {
  const [mode] = pickers({ custom: { session: { modes: MODES } } });
  assert.deepEqual([mode.id, mode.current, mode.set, mode.options.length], ["mode", "ask", "mode", 2]);
  assert.equal(pickers({ custom: { session: { modes: MODES } } }, { wished: { mode: "auto" } })[0].current, "auto");
});

test("models come from the session, else from the registry where a run may name one", () => {
  const models = [{ modelId: "big", displayName: "Big", isDefault: true, thinkingEffortLevels: ["low", "high"] }, { modelId: "old", deprecated: true }];
  assert.deepEqual(pickers({}, { models }), []);
  const [model, effort] = pickers({}, { models, options: ["model", "effort"] });
  assert.deepEqual([model.current, model.set, model.options.map(({ name }) => name)], ["big", undefined, ["Big", "old (deprecated)"]]);
  assert.deepEqual(effort.options.map(({ id }) => id), ["", "low", "high"]);
  const told = { custom: { session: { models: { current: "s", available: [{ id: "s", name: "S" }] } } } };
  assert.deepEqual(pickers(told, { models, options: ["model"] }).map(({ current, set }) => [current, set]), [["s", "model"]]);
});

test("the session's own options are pickers; those of mode and model are not told twice", () => {
  const config = [
    { id: "effort", name: "Effort", category: "thought_level", type: "select", value: "low", options: [{ value: "low", name: "Low" }] },
    { id: "web", name: "Web", type: "boolean", value: false, options: [] }, { id: "mode", category: "mode", type: "select", options: [{ value: "ask" }] }];
  const found = pickers({ custom: { session: { config } } }, { options: ["effort"] });
  assert.deepEqual(found.map(({ id, current }) => [id, current]), [["config:effort", "low"], ["config:web", "false"]]);
});

test("a message reaches a live run only where the gateway declares it", () => {
  const relay = (delivery) => ({ custom: { relay: { delivery } } });
  assert.deepEqual(deliveries(relay({ modes: ["on-idle"], queue: false })), []);
  assert.deepEqual(deliveries(relay({ modes: ["immediate", "on-idle"], queue: true })), ["on-idle", "immediate"]);
  assert.deepEqual(deliveries(relay({ modes: ["immediate", "on-idle", "next-tool-call"], queue: true })), ["on-idle", "next-tool-call", "immediate"]);
});

test("what the description puts in backticks is offered as a first word", () => {
  assert.deepEqual(openers({ identity: { description: "Shows all: say `help` or `think`." } }), [{ say: "help" }, { say: "think" }]);
  const commands = [{ name: "help" }, { name: "init", description: "Begins." }, { name: "review", hint: "a file" }];
  const told = { identity: { description: "Say `help`." }, custom: { session: { commands } } };
  assert.deepEqual(openers(told), [{ say: "help" }, { say: "/init", about: "Begins." }], "no command that wants more words, none twice");
});

test("tokens are added up over models", () => {
  assert.deepEqual(tokens([{ model: "a", inputTokens: 1, outputTokens: 2 }, { inputTokens: 10 }]), { inputTokens: 11, outputTokens: 2 });
});
