// Reads from the capability snapshot what the chat offers. Pure: no DOM, no network. A missing capability is unknown and is not
// offered. Nothing here depends on which agent it is.

import { isOffered, readValues } from "../lib/run_options.js";

const list = (value) => (Array.isArray(value) ? value : []);
const object = (value) => (typeof value === "object" && value !== null ? value : {});

/** The attachable kinds, by their names in the snapshot. AG-UI has one type, `document`, for PDFs and other files. */
const MODALITIES = [
  { key: "image", type: "image", label: "Attach an image", icon: "image", accept: "image/*" },
  { key: "audio", type: "audio", label: "Attach audio", icon: "mic", accept: "audio/*" },
  { key: "video", type: "video", label: "Attach a video", icon: "video", accept: "video/*" },
  { key: "pdf", type: "document", label: "Attach a PDF", icon: "file", accept: "application/pdf,.pdf" },
  { key: "file", type: "document", label: "Attach a file", icon: "clip", accept: "" },
];

export function acceptedModalities(capabilities) {
  const input = object(object(capabilities?.multimodal).input);
  return MODALITIES.filter(({ key }) => input[key] === true);
}

/** The AG-UI part type for a file; null: the agent does not accept the file. */
export function partType(mimeType, capabilities) {
  const accepted = new Set(acceptedModalities(capabilities).map(({ key }) => key)), family = mimeType.split("/")[0];
  if (["image", "audio", "video"].includes(family)) return accepted.has(family) ? family : accepted.has("file") ? "document" : null;
  if (mimeType === "application/pdf" && accepted.has("pdf")) return "document";
  return accepted.has("file") ? "document" : null;
}

export const hasReasoning = (capabilities) => object(capabilities?.reasoning).supported === true;
export const readTools = (capabilities) => list(object(capabilities?.tools).items);
export const acceptsClientTools = (capabilities) => object(capabilities?.tools).clientProvided === true;
export const readSubagents = (capabilities) => list(object(capabilities?.multiAgent).subagents);

/** Modes, models, usage, options and commands of the thread's session. */
export function readSession(capabilities) {
  const state = object(object(capabilities?.custom).session);
  return {
    modes: readChoices(state.modes), models: readChoices(state.models), usage: object(state.usage),
    cwd: typeof state.cwd === "string" ? state.cwd : undefined,
    config: list(state.config).filter((option) => typeof option?.id === "string"),
    commands: list(state.commands).filter((command) => typeof command?.name === "string"),
  };
}

function readChoices(value) {
  const available = list(object(value).available).filter((choice) => typeof choice?.id === "string");
  return { current: object(value).current, available };
}

/** The thread's git worktree: {branch, path, base}; null: it has none. */
export function readWorktree(capabilities) {
  const { worktree } = object(object(capabilities?.custom).gateway);
  return typeof object(worktree).branch === "string" ? worktree : null;
}

export function canFork(capabilities) {
  const { acp, mux } = object(capabilities?.custom);
  return object(acp).forkSession === true || object(mux).canFork === true;
}

/** The ways to deliver a message to an active run, least intrusive first; empty: there is none. */
export function deliveryModes(capabilities) {
  const delivery = object(object(object(capabilities?.custom).relay).delivery);
  if (delivery.queue !== true) return [];
  const modes = new Set(list(delivery.modes));
  return ["on-idle", "next-tool-call", "immediate"].filter((mode) => modes.has(mode));
}

/** The selectable options: [{id, name, current, options: [{id, name, description}], set}]. `set` names the route that changes
 *  a stored thread; what the user chooses is sent with the next run, too. `selected`: the options chosen for that run.
 *  `models`: from `GET …/models`; `offers`: what a run may ask for, by `readOptions`. */
export function listPickers(capabilities, { models = [], offers = {}, selected = {} } = {}) {
  const session = readSession(capabilities), pickers = [];
  const add = (picker) => picker.options.length && pickers.push(picker);
  if (offers.mode !== false) {
    const modes = session.modes.available.length ? session.modes.available : readValues(offers.mode);
    add({ id: "mode", name: "Mode", current: selected.mode ?? session.modes.current, options: modes, set: "mode" });
  }
  const model = selected.model ?? session.models.current ?? models.find((entry) => entry.isDefault)?.modelId;
  if (offers.model !== false) add({ id: "model", name: "Model", current: model, options: offeredModels(session, models, offers), set: "model" });
  for (const option of session.config) if (!["mode", "model"].includes(option.category)) add(configPicker(option));
  if (isOffered(offers.effort) && !session.config.some((option) => option.category === "thought_level")) {
    add({ id: "effort", name: "Effort", current: selected.effort ?? "", options: effortLevels(offers.effort, models, selected.model) });
  }
  return pickers;
}

/** The models of the session; before there is one, those that a run may name, with the names of the registry. */
function offeredModels(session, models, offers) {
  if (session.models.available.length) return session.models.available;
  const known = new Map(models.map((entry) => [entry.modelId, fromRegistry(entry)]));
  const values = readValues(offers.model);
  if (values.length) return values.map((value) => known.get(value.id) ?? value);
  return offers.model === true ? [...known.values()] : [];
}

const fromRegistry = ({ modelId, displayName, deprecated }) => ({ id: modelId, name: deprecated ? `${displayName ?? modelId} (deprecated)` : displayName });

function configPicker(option) {
  const choices = option.type === "boolean"
    ? [{ id: "true", name: "on" }, { id: "false", name: "off" }]
    : list(option.options).map(({ value, name, description, group }) => ({ id: value, name, description, group }));
  return { id: `config:${option.id}`, config: option.id, name: option.name ?? option.id, kind: option.type, current: String(option.value ?? ""),
    options: choices, set: "config" };
}

/** The levels that a run may ask for; of a model that was chosen for the next run, its own. The empty choice means the default. */
function effortLevels(offer, models, chosenModel) {
  const values = readValues(offer), entry = models.find(({ modelId, modelAlias }) => chosenModel !== undefined && [modelId, modelAlias].includes(chosenModel));
  const levels = entry?.thinkingEffortLevels ? list(entry.thinkingEffortLevels).map((id) => values.find((value) => value.id === id) ?? { id, name: id }) : values;
  return levels.length ? [{ id: "", name: "Default" }, ...levels] : [];
}

const MAX_SUGGESTIONS = 6;

/** Suggested first messages: texts in backticks in the agent's description, then commands without arguments. */
export function suggestedMessages(capabilities) {
  const description = String(object(capabilities?.identity).description ?? "");
  const quoted = [...description.matchAll(/`([^`\n]{1,40})`/g)].map((match) => ({ text: match[1] }));
  const commands = readSession(capabilities).commands.filter(({ name, hint }) => !hint && !quoted.some(({ text }) => text === name));
  return [...quoted, ...commands.map((command) => ({ text: `/${command.name}`, about: command.description }))].slice(0, MAX_SUGGESTIONS);
}

/** Token counts, summed over the entries of a usage report. */
export function sumTokens(usage) {
  const sums = {};
  for (const entry of list(usage)) {
    for (const [name, count] of Object.entries(object(entry))) if (typeof count === "number") sums[name] = (sums[name] ?? 0) + count;
  }
  return sums;
}
