// Snapshots as leaves: path → value. Pure. A path that is missing is one that nobody knows: that is not `false`.

/** AG-UI's own leaves, in its order, so that the unknown ones can be told. */
const OWN = {
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
export const KNOWN = Object.entries(OWN).flatMap(([group, names]) => names.split(" ").map((name) => `${group}.${name}`));
const ORDER = new Map(KNOWN.map((path, at) => [path, at]));

/** What stands behind each group's name. */
export const TITLES = {
  identity: "Who it is", transport: "How it can be reached", tools: "Tools", output: "Output", state: "State", multiAgent: "Subagents", reasoning: "Reasoning",
  multimodal: "Beyond text", execution: "Execution", humanInTheLoop: "Human in the loop", custom: "Beyond AG-UI",
  "custom.gateway": "The gateway's own", "custom.session": "This session", "custom.acp": "ACP", "custom.mux": "agent-mux", "custom.relay": "agent-relay",
};

/** The leaves of a tree; arrays and empty objects are leaves, as in the gateway's `explain`. */
export function flatten(tree, path = "", found = {}) {
  for (const [key, value] of Object.entries(tree ?? {})) {
    const here = path ? `${path}.${key}` : key;
    if (value !== null && typeof value === "object" && !Array.isArray(value) && Object.keys(value).length) flatten(value, here, found);
    else found[here] = value;
  }
  return found;
}

/** `custom.mux.…` is a group of its own. */
export function groupOf(path) {
  const [first, second] = path.split(".");
  return first === "custom" && second ? `custom.${second}` : first;
}

export function titleOf(group) {
  return TITLES[group] ?? (group.startsWith("custom.") ? group.slice("custom.".length) : group);
}

export function byOrder(one, other) {
  return (ORDER.get(one) ?? KNOWN.length) - (ORDER.get(other) ?? KNOWN.length) || (one < other ? -1 : one > other ? 1 : 0);
}

/** [[group, [path, …]], …], AG-UI's groups first. */
export function grouped(paths) {
  const groups = new Map(Object.keys(OWN).map((group) => [group, []]));
  for (const path of [...paths].sort(byOrder)) {
    const group = groupOf(path);
    if (!groups.has(group)) groups.set(group, []);
    groups.get(group).push(path);
  }
  return [...groups].filter(([, members]) => members.length);
}

/** The path within its group. */
export const within = (path) => path.slice(groupOf(path).length + 1) || path;

/** A value in a few characters; lists of names as names. */
export function brief(value, most = 60) {
  const said = Array.isArray(value) ? value.map((one) => (one !== null && typeof one === "object" ? String(one.name ?? one.id ?? JSON.stringify(one)) : String(one))).join(", ") || "none" : value !== null && typeof value === "object" ? JSON.stringify(value) : String(value);
  return said.length > most ? `${said.slice(0, most - 1)}…` : said;
}

/** Whether values say the same, wherever their keys stand. */
export function same(one, other) {
  return one === other || stable(one) === stable(other);
}

function stable(value) {
  return JSON.stringify(value, (_, inner) => (inner !== null && typeof inner === "object" && !Array.isArray(inner) ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1))) : inner));
}
