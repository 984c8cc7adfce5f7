// What people look for in an agent, in a word each, read off its snapshot and its options. Pure.

const says = (...paths) => ({ values }) => {
  const told = paths.map((path) => values[path]).filter((value) => value !== undefined);
  return told.length ? told.some(Boolean) : undefined;
};
const takes = (option, ...paths) => (one) => (one.options.includes(option) ? true : says(...paths)(one));

/** [id, word, ({values, options}) → true, false or undefined: nobody knows]. */
export const FACETS = [
  ["image", "images", says("multimodal.input.image")],
  ["file", "files", says("multimodal.input.file", "multimodal.input.pdf")],
  ["audio", "audio", says("multimodal.input.audio")],
  ["reasoning", "reasoning", says("reasoning.supported")],
  ["approvals", "approvals", says("humanInTheLoop.approvals")],
  ["edits", "edited approvals", says("humanInTheLoop.approveWithEdits")],
  ["subagents", "subagents", says("multiAgent.supported")],
  ["client-tools", "client tools", says("tools.clientProvided")],
  ["mcp", "MCP", takes("mcpServers", "custom.mux.supportsMCP")],
  ["models", "models", takes("model")],
  ["effort", "effort", takes("effort")],
  ["modes", "modes", takes("mode")],
  ["resume", "resume", takes("sessionId", "custom.mux.canResume")],
  ["fork", "fork", takes("forkSessionId", "custom.mux.canFork")],
  ["structured", "structured output", says("output.structuredOutput")],
  ["sandbox", "sandbox", says("execution.sandboxed")],
];

export const STATUSES = { ready: "Ready", "needs-auth": "Needs sign-in", "not-installed": "Not installed", broken: "Broken" };
const ORDER = Object.keys(STATUSES);

/** The ids of the facets that an agent is known to have. */
export function facetsOf(agent, values) {
  return FACETS.filter(([, , test]) => test({ values, options: agent.options ?? [] }) === true).map(([id]) => id);
}

/** Ready ones first, and `demo` before all: it is there to be tried. */
export function sorted(agents) {
  const rank = (agent) => ORDER.indexOf(agent.availability.status) + (agent.availability.status in STATUSES ? 0 : ORDER.length + 1);
  const name = (agent) => (agent.id === "demo" ? "" : (agent.identity.name ?? agent.id).toLowerCase());
  return [...agents].sort((one, other) => rank(one) - rank(other) || (name(one) < name(other) ? -1 : 1));
}

/** Every word of the query somewhere in what is told of the agent. */
export function matches(agent, { query = "", status = "", facets = [] }, has) {
  const text = [agent.id, agent.driver, ...(agent.via ?? []), ...Object.values(agent.identity)].join(" ").toLowerCase();
  return query.toLowerCase().split(/\s+/).every((word) => text.includes(word)) && (!status || agent.availability.status === status) && facets.every((facet) => has.includes(facet));
}

/** path → agent → value, as the matrix has it, turned to agent → path → value. */
export function byAgent({ agents, leaves }) {
  const found = Object.fromEntries(agents.map((name) => [name, {}]));
  for (const [path, cells] of Object.entries(leaves)) for (const [name, value] of Object.entries(cells)) found[name][path] = value;
  return found;
}
