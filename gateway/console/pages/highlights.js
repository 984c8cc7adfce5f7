// The facets by which agents are filtered and labelled, read from snapshots and options. Pure: no DOM, no network.

/** True if one of the paths is true, false if all known ones are false, undefined if none is known. */
const anyTrue = (...paths) => ({ values }) => {
  const known = paths.map((path) => values[path]).filter((value) => value !== undefined);
  return known.length ? known.some(Boolean) : undefined;
};
const hasOption = (option, ...paths) => (agent) => (agent.options.includes(option) ? true : anyTrue(...paths)(agent));

/** [id, label, ({values, options}) → true, false, or undefined where it is unknown]. */
export const FACETS = [
  ["image", "images", anyTrue("multimodal.input.image")],
  ["file", "files", anyTrue("multimodal.input.file", "multimodal.input.pdf")],
  ["audio", "audio", anyTrue("multimodal.input.audio")],
  ["reasoning", "reasoning", anyTrue("reasoning.supported")],
  ["approvals", "approvals", anyTrue("humanInTheLoop.approvals")],
  ["edits", "edited approvals", anyTrue("humanInTheLoop.approveWithEdits")],
  ["subagents", "subagents", anyTrue("multiAgent.supported")],
  ["client-tools", "client tools", anyTrue("tools.clientProvided")],
  ["mcp", "MCP", hasOption("mcpServers", "custom.mux.supportsMCP")],
  ["models", "models", hasOption("model")],
  ["effort", "effort", hasOption("effort")],
  ["modes", "modes", hasOption("mode")],
  ["resume", "resume", hasOption("sessionId", "custom.mux.canResume")],
  ["fork", "fork", hasOption("forkSessionId", "custom.mux.canFork")],
  ["structured", "structured output", anyTrue("output.structuredOutput")],
  ["sandbox", "sandbox", anyTrue("execution.sandboxed")],
];

export const STATUSES = { ready: "Ready", "needs-auth": "Needs sign-in", "not-installed": "Not installed", broken: "Broken" };
const STATUS_ORDER = Object.keys(STATUSES);

/** The ids of the facets that an agent is known to have. */
export function findFacets(agent, values) {
  return FACETS.filter(([, , test]) => test({ values, options: agent.options ?? [] }) === true).map(([id]) => id);
}

/** Ready agents first, and `demo` before all others, because it is made for trying out. */
export function sortAgents(agents) {
  const rank = (agent) => STATUS_ORDER.indexOf(agent.availability.status) + (agent.availability.status in STATUSES ? 0 : STATUS_ORDER.length + 1);
  const name = (agent) => (agent.id === "demo" ? "" : (agent.identity.name ?? agent.id).toLowerCase());
  return [...agents].sort((first, second) => rank(first) - rank(second) || (name(first) < name(second) ? -1 : 1));
}

/** Whether every word of the query occurs in the agent's names, and the status and all facets match. */
export function matchesFilter(agent, { query = "", status = "", facets = [] }, agentFacets) {
  const text = [agent.id, agent.driver, ...(agent.via ?? []), ...Object.values(agent.identity)].join(" ").toLowerCase();
  return query.toLowerCase().split(/\s+/).every((term) => text.includes(term)) && (!status || agent.availability.status === status)
    && facets.every((facet) => agentFacets.includes(facet));
}

/** Turns the matrix (path → agent → value) into agent → path → value. */
export function groupByAgent({ agents, leaves: matrixRows }) {
  const values = Object.fromEntries(agents.map((name) => [name, {}]));
  for (const [path, cells] of Object.entries(matrixRows)) for (const [name, value] of Object.entries(cells)) values[name][path] = value;
  return values;
}
