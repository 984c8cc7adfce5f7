// Agents side by side: where they differ, and who says so.

import { getJson } from "../lib/api.js";
import { fill, h, icon } from "../lib/dom.js";
import { valueMark, when } from "../render/capability.js";
import { grouped, titleOf, within } from "../render/paths.js";
import { keepInAddress } from "./agent_parts.js";
import { abilitiesFirst, differs } from "./matrix_cells.js";

const MOST = 6;
const LETTERS = "abcdefghijklmnopqrstuvwxyz";

export async function comparePage(_, query, { abort }) {
  const [matrix, listed] = await Promise.all([getJson("capabilities/matrix?explain=1", { signal: abort }), getJson("agents", { signal: abort })]);
  return new Compare(matrix, listed.agents, query).node;
}

class Compare {
  constructor(matrix, listed, query) {
    this.matrix = matrix;
    this.names = Object.fromEntries(listed.map((agent) => [agent.id, agent.identity.name ?? agent.id]));
    this.agents = wished(query, matrix.agents);
    this.all = h("input", { type: "checkbox", checked: query.has("all"), on: { change: () => this.#draw() } });
    this.pickers = h("div", { class: "row wrap choosers" });
    this.count = h("span", { class: "muted small", role: "status" });
    this.body = h("div");
    this.node = h("div", { class: "page stack" },
      h("div", { class: "page-head" }, h("div", { class: "grow" }, h("h1", {}, "Compare"), h("p", { class: "muted" }, "What these agents differ in. Where nobody has spoken, it says unknown: that is not no.")), this.count),
      h("div", { class: "row wrap filters" }, this.pickers, h("label", { class: "check" }, this.all, "Show what is the same, too")), this.body);
    this.#draw();
  }

  #draw() {
    keepInAddress("/compare", { ...Object.fromEntries(this.agents.map((agent, at) => [LETTERS[at], agent])), all: this.all.checked && 1 });
    this.#drawPickers();
    const paths = Object.keys(this.matrix.leaves), different = paths.filter((path) => differs(this.matrix.leaves[path], this.agents));
    const shown = this.all.checked ? paths.filter((path) => this.agents.some((agent) => this.matrix.leaves[path][agent])) : different;
    fill(this.count, `${different.length} differences`);
    fill(this.body, shown.length ? h("div", { class: "scroll compare-frame", tabIndex: 0, role: "group", "aria-label": "Comparison" }, this.#table(shown, new Set(different))) : h("div", { class: "empty card" }, "They say the same of everything."));
  }

  #drawPickers() {
    const options = (chosen) => this.matrix.agents.map((id) => h("option", { value: id, selected: id === chosen }, this.names[id] === id ? id : `${this.names[id]} (${id})`));
    const here = document.activeElement?.dataset?.picker;
    fill(this.pickers, this.agents.map((agent, at) => h("div", { class: "chooser" },
      h("select", { "aria-label": `Agent ${at + 1}`, dataset: { picker: String(at) }, on: { change: (event) => { this.agents[at] = event.target.value; this.#draw(); } } }, options(agent)),
      this.agents.length > 2 && h("button", { type: "button", class: "btn quiet only", "aria-label": `Leave ${this.names[agent]} out`, on: { click: () => { this.agents.splice(at, 1); this.#draw(); } } }, icon("close")))),
      this.agents.length < Math.min(MOST, this.matrix.agents.length) && h("button", { type: "button", class: "btn", dataset: { picker: "more" }, on: { click: () => { this.agents.push(another(this.matrix.agents, this.agents)); this.#draw(); } } }, icon("plus"), "One more"));
    if (here) this.pickers.querySelector(`[data-picker="${CSS.escape(here)}"]`)?.focus();
  }

  #table(paths, different) {
    const head = h("tr", {}, h("th", { scope: "col", class: "corner" }, "Capability"), this.agents.map((agent) => h("th", { scope: "col" }, h("a", { href: `#/agents/${encodeURIComponent(agent)}` }, this.names[agent] ?? agent), h("div", { class: "mono muted tiny" }, agent))));
    const groups = abilitiesFirst(grouped(paths)).map(([group, members]) => h("tbody", {},
      h("tr", { class: "matrix-group" }, h("th", { colSpan: this.agents.length + 1, scope: "rowgroup" }, h("span", {}, titleOf(group), h("span", { class: "mono muted" }, group)))),
      members.map((path) => h("tr", { class: different.has(path) ? "differs" : "" }, h("th", { scope: "row", class: "mono" }, within(path)), this.agents.map((agent) => told(this.matrix.leaves[path][agent]))))));
    return h("table", { class: "compare" }, h("thead", {}, head), groups);
  }
}

function told(cell) {
  if (!cell) return h("td", { class: "muted" }, h("span", { class: "small" }, "unknown"));
  return h("td", {}, h("div", {}, valueMark(cell.value)), h("div", { class: "tiny", title: when(cell.since) }, h("span", { class: `layer ${cell.layer}` }, cell.layer), " ", h("span", { class: "muted mono" }, cell.source)));
}

/** ?a=…&b=…&c=…, as far as there are such agents; two at least. */
function wished(query, known) {
  const found = [...LETTERS].map((letter) => query.get(letter)).filter((agent) => known.includes(agent)).slice(0, MOST);
  while (found.length < Math.min(2, known.length)) found.push(another(known, found));
  return found;
}

const another = (known, taken) => ["demo", "echo", ...known].find((agent) => known.includes(agent) && !taken.includes(agent)) ?? known[0];
