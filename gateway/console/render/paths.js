// Capability snapshots as flat maps: dotted path → value. Pure: no DOM. A missing path means unknown, not `false`.

/** AG-UI's capability paths in the order of its specification, so that unknown ones can be listed. */
const AGUI_GROUPS = {
  identity: "name type description version provider documentationUrl metadata",
  transport: "streaming websocket httpBinary pushNotifications resumable",
  tools: "supported items parallelCalls clientProvided",
  output: "structuredOutput supportedMimeTypes",
  state: "snapshots deltas memory persistentState",
  multiAgent: "supported delegation handoffs subagents",
  reasoning: "supported streaming encrypted",
  multimodal: "input.image input.audio input.video input.pdf input.file output.image output.audio",
  execution: "codeExecution sandboxed maxIterations maxExecutionTime",
  humanInTheLoop: "supported approvals interventions feedback interrupts approveWithEdits",
};
export const AGUI_PATHS = Object.entries(AGUI_GROUPS).flatMap(([group, names]) => names.split(" ").map((name) => `${group}.${name}`));
const PATH_ORDER = new Map(AGUI_PATHS.map((path, at) => [path, at]));

/** The heading of each group. */
export const TITLES = {
  identity: "Identity", transport: "Transport", tools: "Tools", output: "Output", state: "State", multiAgent: "Multi-agent", reasoning: "Reasoning",
  multimodal: "Multimodal", execution: "Execution", humanInTheLoop: "Human in the loop", custom: "Custom",
  "custom.gateway": "Gateway", "custom.session": "Session", "custom.acp": "ACP", "custom.mux": "agent-mux", "custom.relay": "agent-relay",
};

/** The values of a snapshot by dotted path. Arrays and empty objects are values, as in the gateway's `explain`. */
export function flatten(tree, path = "", values = {}) {
  for (const [key, value] of Object.entries(tree ?? {})) {
    const fullPath = path ? `${path}.${key}` : key;
    if (value !== null && typeof value === "object" && !Array.isArray(value) && Object.keys(value).length) flatten(value, fullPath, values);
    else values[fullPath] = value;
  }
  return values;
}

/** The group of a path. `custom.mux.…` and its like are groups of their own. */
export function pathGroup(path) {
  const [first, second] = path.split(".");
  return first === "custom" && second ? `custom.${second}` : first;
}

export function groupTitle(group) {
  return TITLES[group] ?? (group.startsWith("custom.") ? group.slice("custom.".length) : group);
}

export function comparePaths(first, second) {
  return (PATH_ORDER.get(first) ?? AGUI_PATHS.length) - (PATH_ORDER.get(second) ?? AGUI_PATHS.length) || (first < second ? -1 : first > second ? 1 : 0);
}

/** [[group, [path, …]], …], AG-UI's groups first. */
export function groupPaths(paths) {
  const groups = new Map(Object.keys(AGUI_GROUPS).map((group) => [group, []]));
  for (const path of [...paths].sort(comparePaths)) {
    const group = pathGroup(path);
    if (!groups.has(group)) groups.set(group, []);
    groups.get(group).push(path);
  }
  return [...groups].filter(([, members]) => members.length);
}

/** The path without its group. */
export const pathInGroup = (path) => path.slice(pathGroup(path).length + 1) || path;

/** A value as a short text. A list of named objects becomes a list of names. */
export function summarize(value, maxChars = 60) {
  const isObject = (item) => item !== null && typeof item === "object";
  const nameOf = (item) => (isObject(item) ? String(item.name ?? item.id ?? JSON.stringify(item)) : String(item));
  const list = Array.isArray(value) && (value.map(nameOf).join(", ") || "none");
  const text = list || (isObject(value) ? JSON.stringify(value) : String(value));
  return text.length > maxChars ? `${text.slice(0, maxChars - 1)}…` : text;
}

/** Whether two values are equal; the order of keys does not matter. */
export function isEqual(first, second) {
  return first === second || toStableJson(first) === toStableJson(second);
}

function toStableJson(value) {
  const isObject = (inner) => inner !== null && typeof inner === "object" && !Array.isArray(inner);
  const sortKeys = (inner) => Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)));
  return JSON.stringify(value, (_, inner) => (isObject(inner) ? sortKeys(inner) : inner));
}
