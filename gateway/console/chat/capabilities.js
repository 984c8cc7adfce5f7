// The capability snapshot → what the chat shows. Pure. What is absent is unknown, and unknown is not shown; nothing here
// asks which agent it is.

const list = (value) => (Array.isArray(value) ? value : []);
const object = (value) => (typeof value === "object" && value !== null ? value : {});

/** What may be attached, by the snapshot's own names. A PDF and any other file are both AG-UI's `document`. */
const MODALITIES = [
  { key: "image", type: "image", label: "Attach an image", icon: "image", accept: "image/*" },
  { key: "audio", type: "audio", label: "Attach a sound", icon: "mic", accept: "audio/*" },
  { key: "video", type: "video", label: "Attach a video", icon: "video", accept: "video/*" },
  { key: "pdf", type: "document", label: "Attach a PDF", icon: "file", accept: "application/pdf,.pdf" },
  { key: "file", type: "document", label: "Attach a file", icon: "clip", accept: "" },
];

export function modalities(capabilities) {
  const input = object(object(capabilities?.multimodal).input);
  return MODALITIES.filter(({ key }) => input[key] === true);
}

/** Which part a file becomes; null: this agent does not take it. */
export function partType(mimeType, capabilities) {
  const taken = new Set(modalities(capabilities).map(({ key }) => key)), family = mimeType.split("/")[0];
  if (["image", "audio", "video"].includes(family)) return taken.has(family) ? family : taken.has("file") ? "document" : null;
  if (mimeType === "application/pdf" && taken.has("pdf")) return "document";
  return taken.has("file") ? "document" : null;
}

export const reasons = (capabilities) => object(capabilities?.reasoning).supported === true;
export const tools = (capabilities) => list(object(capabilities?.tools).items);
export const takesTools = (capabilities) => object(capabilities?.tools).clientProvided === true;
export const subagents = (capabilities) => list(object(capabilities?.multiAgent).subagents);

/** Facts of the thread's session, as it last told them. */
export function session(capabilities) {
  const told = object(object(capabilities?.custom).session);
  return {
    modes: choices(told.modes), models: choices(told.models), usage: object(told.usage),
    config: list(told.config).filter((one) => typeof one?.id === "string"),
    commands: list(told.commands).filter((one) => typeof one?.name === "string"),
  };
}

function choices(told) {
  const available = list(object(told).available).filter((one) => typeof one?.id === "string");
  return { current: object(told).current, available };
}

export function forks(capabilities) {
  const { acp, mux } = object(capabilities?.custom);
  return object(acp).forkSession === true || object(mux).canFork === true;
}

/** How a message may reach a run that is under way, the mildest first; empty: it cannot. */
export function deliveries(capabilities) {
  const delivery = object(object(object(capabilities?.custom).relay).delivery);
  if (delivery.queue !== true) return [];
  const modes = new Set(list(delivery.modes));
  return ["on-idle", "next-tool-call", "immediate"].filter((mode) => modes.has(mode));
}

/** What can be chosen: [{id, name, current, options: [{id, name, description}], set}]. `set` says by which route an open
 *  session takes it; a choice without one travels with the next run. `wished`: what was chosen for that.
 *  `models`: `GET …/models`; `options`: what the agent's definition lets a run ask for. */
export function pickers(capabilities, { models = [], options = [], wished = {} } = {}) {
  const facts = session(capabilities), found = [];
  const add = (picker) => picker.options.length && found.push(picker);
  add({ id: "mode", name: "Mode", current: wished.mode ?? facts.modes.current, options: facts.modes.available, set: "mode" });
  const listed = facts.models.available.length ? facts.models.available : options.includes("model") ? models.map(fromRegistry) : [];
  const byDefault = models.find((one) => one.isDefault)?.modelId;
  const model = wished.model ?? facts.models.current ?? byDefault;
  add({ id: "model", name: "Model", current: model, options: listed, set: facts.models.available.length ? "model" : undefined });
  for (const option of facts.config) if (!["mode", "model"].includes(option.category)) add(configured(option));
  if (options.includes("effort") && !facts.config.some((one) => one.category === "thought_level")) {
    add({ id: "effort", name: "Effort", current: wished.effort ?? "", options: efforts(capabilities, models, model) });
  }
  return found;
}

const fromRegistry = ({ modelId, displayName, deprecated }) => ({ id: modelId, name: deprecated ? `${displayName ?? modelId} (deprecated)` : displayName });

function configured(option) {
  const told = option.type === "boolean"
    ? [{ id: "true", name: "on" }, { id: "false", name: "off" }]
    : list(option.options).map(({ value, name, description, group }) => ({ id: value, name, description, group }));
  return { id: `config:${option.id}`, config: option.id, name: option.name ?? option.id, kind: option.type, current: String(option.value ?? ""), options: told, set: "config" };
}

/** A model's own levels, else the agent's. The empty choice leaves it to the agent. */
function efforts(capabilities, models, model) {
  const chosen = models.find((one) => one.modelId === model || one.modelAlias === model);
  const levels = list(chosen?.thinkingEffortLevels ?? object(object(capabilities?.custom).mux).thinkingEffortLevels);
  return levels.length ? [{ id: "", name: "as it likes" }, ...levels.map((level) => ({ id: level, name: level }))] : [];
}

const OPENERS = 6;

/** What to say first: words that the agent's own description puts in backticks, then commands that need nothing more. */
export function openers(capabilities) {
  const said = String(object(capabilities?.identity).description ?? "");
  const words = [...said.matchAll(/`([^`\n]{1,40})`/g)].map((found) => ({ say: found[1] }));
  const commands = session(capabilities).commands.filter(({ name, hint }) => !hint && !words.some(({ say }) => say === name));
  return [...words, ...commands.map(({ name, description }) => ({ say: `/${name}`, about: description }))].slice(0, OPENERS);
}

export function tokens(usage) {
  const sums = {};
  for (const entry of list(usage)) for (const [name, count] of Object.entries(object(entry))) if (typeof count === "number") sums[name] = (sums[name] ?? 0) + count;
  return sums;
}
