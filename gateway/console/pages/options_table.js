// What a run may ask the agent for, as a table: each option, what is allowed, and the source of a refusal.

import { h } from "../lib/dom.js";
import { describeOption, readOptions } from "../lib/run_options.js";

/** Options in the order of the table, with their names in words. */
const NAMES = {
  model: "Model", mode: "Mode", effort: "Effort", thinkingBudgetTokens: "Thinking budget", thinkingOverride: "Thinking, in the agent's own terms",
  approvals: "Approvals", cwd: "Folder", worktree: "Git worktree", additionalDirectories: "Additional folders", mcpServers: "MCP servers", skills: "Skills",
  outputFormat: "Output format", outputSchema: "Output schema", maxTurns: "Maximum turns", sessionId: "Resume a session", forkSessionId: "Copy a session",
  stream: "Streaming",
};

/** `explain`: path → sources, of the explained snapshot. */
export function optionsTable(capabilities, explain = {}) {
  const options = readOptions(capabilities), names = [...Object.keys(NAMES), ...Object.keys(options).filter((name) => !(name in NAMES))];
  const known = names.filter((name) => options[name] !== undefined && !HIDDEN.has(name)), unknown = Object.keys(NAMES).filter((name) => options[name] === undefined);
  if (!known.length) return h("p", { class: "muted small" }, "The gateway does not state what a run may ask for.");
  return h("div", { class: "stack", dataset: { testid: "options-table" } },
    h("table", { class: "list options-table" }, h("thead", { class: "sr" }, h("tr", {}, h("th", { scope: "col" }, "Option"), h("th", { scope: "col" }, "Allowed"))),
      h("tbody", {}, known.map((name) => row(name, options[name], findSource(explain, name))))),
    unknown.length > 0 && h("p", { class: "muted small" }, "Not known before the first session: ", unknown.map((name) => NAMES[name]).join(", "), "."));
}

/** Options that the gateway carries out for every agent. */
const HIDDEN = new Set(["onDisconnect", "strict", "merge"]);

function row(name, statement, source) {
  return h("tr", { dataset: { option: name }, class: statement === false ? "refused" : "" },
    h("th", { scope: "row", title: name }, NAMES[name] ?? name),
    h("td", { title: source && `Source: ${source}` }, describeOption(name, statement), statement === false && source && h("span", { class: "muted small" }, ` · ${source}`)));
}

/** The source that decides: of the option itself, or of its first value. */
function findSource(explain, name) {
  const path = `custom.gateway.options.${name}`, key = path in explain ? path : Object.keys(explain).find((other) => other.startsWith(`${path}.`));
  const entry = key && explain[key];
  return typeof entry?.source === "string" ? entry.source : undefined;
}
