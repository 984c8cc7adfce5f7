// Reads workspace trust from a snapshot and from an interrupt. Pure: no DOM, no network.

const object = (value) => (typeof value === "object" && value !== null && !Array.isArray(value) ? value : {});
const list = (value) => (Array.isArray(value) ? value : []);
const text = (value) => (typeof value === "string" ? value : "");

export const TRUST_REASON = "gateway:workspace_trust";

const STATES = {
  trusted: { label: "Trusted", kind: "good", about: "The agent reads the configuration of the project" },
  untrusted: { label: "Not trusted", kind: "warn", about: "The agent does not read the configuration of the project" },
  unknown: { label: "Not trusted yet", kind: "", about: "You are asked before the agent starts" },
};
const DECIDERS = { operator: "decided by the operator", user: "you trusted the folder", run: "trusted for one run",
  thread: "your answer in this thread", setting: "decided by the gateway's settings" };

/** {label, kind, about} of the thread's folder; null: nothing is known of it. */
export function readTrust(capabilities) {
  const { state, folder, decidedBy } = object(object(object(capabilities?.custom).gateway).trust), known = STATES[state];
  if (!known) return null;
  const parts = [`${known.about}: ${text(folder)}`, DECIDERS[decidedBy]].filter(Boolean);
  return { label: known.label, kind: known.kind, about: parts.join(" · ") };
}

/** [{folder, files: [{file, items: [{kind, key, text}]}]}] of a question about folders; null for any other interrupt. */
export function readConfiguration(interrupt) {
  if (interrupt?.reason !== TRUST_REASON) return null;
  return list(object(object(interrupt.metadata).trust).folders).map(object).map(({ folder, configuration }) => {
    const files = new Map();
    for (const item of list(configuration).map(object)) {
      const file = text(item.file);
      if (!files.has(file)) files.set(file, []);
      files.get(file).push({ kind: text(item.kind), key: text(item.key), text: text(item.text) });
    }
    return { folder: text(folder), files: [...files].map(([file, items]) => ({ file, items })) };
  });
}
