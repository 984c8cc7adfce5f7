// The compare page: agents side by side, with the capabilities in which they differ and the source of each value.

import { getJson } from "../lib/api.js";
import { fill, h, icon } from "../lib/dom.js";
import { formatTime, valueMark } from "../render/capability.js";
import { groupPaths, groupTitle, pathInGroup } from "../render/paths.js";
import { saveInAddress } from "./agent_parts.js";
import { differs, identityLast } from "./matrix_cells.js";

const MAX_AGENTS = 6;
const LETTERS = "abcdefghijklmnopqrstuvwxyz";

export async function comparePage(_, query, { abort }) {
  const [matrix, listed] = await Promise.all([getJson("capabilities/matrix?explain=1", { signal: abort }), getJson("agents", { signal: abort })]);
  return new ComparePage(matrix, listed.agents, query).node;
}

class ComparePage {
  constructor(matrix, listed, query) {
    this.matrix = matrix;
    this.names = Object.fromEntries(listed.map((agent) => [agent.id, agent.identity.name ?? agent.id]));
    this.agents = readAgents(query, matrix.agents);
    this.showEqual = h("input", { type: "checkbox", checked: query.has("all"), on: { change: () => this.#draw() } });
    this.pickers = h("div", { class: "row wrap choosers" });
    this.count = h("span", { class: "muted small", role: "status" });
    this.body = h("div");
    this.node = h("div", { class: "page stack" },
      h("div", { class: "page-head" }, h("div", { class: "grow" }, h("h1", {}, "Compare"),
        h("p", { class: "muted" }, "The capabilities in which these agents differ. “Unknown” means that no source reports a value.")), this.count),
      h("div", { class: "row wrap filters" }, this.pickers, h("label", { class: "check" }, this.showEqual, "Show equal values")), this.body);
    this.#draw();
  }

  #draw() {
    saveInAddress("/compare", { ...Object.fromEntries(this.agents.map((agent, index) => [LETTERS[index], agent])), all: this.showEqual.checked && 1 });
    this.#drawPickers();
    const cells = this.matrix.leaves, paths = Object.keys(cells), different = paths.filter((path) => differs(cells[path], this.agents));
    const shown = this.showEqual.checked ? paths.filter((path) => this.agents.some((agent) => cells[path][agent])) : different;
    fill(this.count, `${different.length} difference${different.length === 1 ? "" : "s"}`);
    fill(this.body, shown.length ? h("div", { class: "scroll compare-frame", tabIndex: 0, role: "group", "aria-label": "Comparison" },
      this.#table(shown, new Set(different))) : h("div", { class: "empty card" }, "These agents have the same capabilities."));
  }

  #drawPickers() {
    const options = (selected) => this.matrix.agents.map((id) => h("option", { value: id, selected: id === selected },
      this.names[id] === id ? id : `${this.names[id]} (${id})`));
    const focused = document.activeElement?.dataset?.picker;
    fill(this.pickers, this.agents.map((agent, index) => h("div", { class: "chooser" },
      h("select", { "aria-label": `Agent ${index + 1}`, dataset: { picker: String(index) },
        on: { change: (event) => { this.agents[index] = event.target.value; this.#draw(); } } }, options(agent)),
      this.agents.length > 2 && h("button", { type: "button", class: "btn quiet only", "aria-label": `Remove ${this.names[agent]}`,
        on: { click: () => { this.agents.splice(index, 1); this.#draw(); } } }, icon("close")))),
      this.agents.length < Math.min(MAX_AGENTS, this.matrix.agents.length)
        && h("button", { type: "button", class: "btn", dataset: { picker: "add" },
        on: { click: () => { this.agents.push(nextAgent(this.matrix.agents, this.agents)); this.#draw(); } } }, icon("plus"), "Add agent"));
    if (focused) this.pickers.querySelector(`[data-picker="${CSS.escape(focused)}"]`)?.focus();
  }

  #table(paths, different) {
    const head = h("tr", {}, h("th", { scope: "col", class: "corner" }, "Capability"),
      this.agents.map((agent) => h("th", { scope: "col" }, h("a", { href: `#/agents/${encodeURIComponent(agent)}` }, this.names[agent] ?? agent),
      h("div", { class: "mono muted tiny" }, agent))));
    const groups = identityLast(groupPaths(paths)).map(([group, members]) => h("tbody", {},
      h("tr", { class: "matrix-group" }, h("th", { colSpan: this.agents.length + 1, scope: "rowgroup" },
        h("span", {}, groupTitle(group), h("span", { class: "mono muted" }, group)))),
      members.map((path) => h("tr", { class: different.has(path) ? "differs" : "" }, h("th", { scope: "row", class: "mono" }, pathInGroup(path)),
        this.agents.map((agent) => cellView(this.matrix.leaves[path][agent]))))));
    return h("table", { class: "compare" }, h("thead", {}, head), groups);
  }
}

function cellView(cell) {
  if (!cell) return h("td", { class: "muted" }, h("span", { class: "small" }, "unknown"));
  return h("td", {}, h("div", {}, valueMark(cell.value)),
    h("div", { class: "tiny", title: formatTime(cell.since) }, h("span", { class: `layer ${cell.layer}` }, cell.layer), " ",
    h("span", { class: "muted mono" }, cell.source)));
}

/** The agents named by ?a=…&b=…&c=…, as far as they exist; at least two. */
function readAgents(query, known) {
  const agents = [...LETTERS].map((letter) => query.get(letter)).filter((agent) => known.includes(agent)).slice(0, MAX_AGENTS);
  while (agents.length < Math.min(2, known.length)) agents.push(nextAgent(known, agents));
  return agents;
}

const nextAgent = (known, taken) => ["demo", "echo", ...known].find((agent) => known.includes(agent) && !taken.includes(agent)) ?? known[0];
