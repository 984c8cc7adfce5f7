// Agents by capabilities. Every cell is built once; a filter only hides. The arrow keys walk the cells, Enter asks who
// said it.

import { getJson, send } from "../lib/api.js";
import { fill, h, icon, openDialog, toast } from "../lib/dom.js";
import { explained, valueMark } from "../render/capability.js";
import { grouped, titleOf, within } from "../render/paths.js";
import { keepInAddress } from "./agent_parts.js";
import { abilitiesFirst, chosen, sign, words } from "./matrix_cells.js";

export async function matrixPage(_, query, { abort }) {
  const [matrix, listed] = await Promise.all([getJson("capabilities/matrix?explain=1", { signal: abort }), getJson("agents", { signal: abort })]);
  return new Matrix(matrix, listed.agents, query).node;
}

class Matrix {
  #rows = new Map(); // path → {tr, cells: [td by column]}
  #groups = []; // {tr, paths}
  #heads = [];
  #hidden = new Set();

  constructor(matrix, listed, query) {
    this.matrix = matrix;
    this.names = Object.fromEntries(listed.map((agent) => [agent.id, agent.identity.name ?? agent.id]));
    this.able = new Set(listed.filter((agent) => agent.availability.status === "ready").map((agent) => agent.id));
    const field = (name, label) => h("input", { type: "search", value: query.get(name) ?? "", placeholder: label, "aria-label": label, on: { input: () => this.#filter() } });
    const box = (name) => h("input", { type: "checkbox", checked: query.has(name), on: { change: () => this.#filter() } });
    [this.rows, this.columns, this.differences, this.ready] = [field("rows", "Filter capabilities"), field("agents", "Filter agents"), box("differences"), box("ready")];
    this.count = h("span", { class: "muted small", role: "status" });
    this.table = this.#table();
    this.node = h("div", { class: "page wide stack" },
      h("div", { class: "page-head" }, h("div", { class: "grow" }, h("h1", {}, "Matrix"), h("p", { class: "muted" }, "✓ yes, ✗ no, blank: nobody knows. Choose a cell to see who said it.")), this.count,
        h("button", { class: "btn", on: { click: download } }, icon("save"), "CSV")),
      h("div", { class: "row wrap filters" }, h("div", { class: "search" }, icon("search"), this.rows), h("div", { class: "search" }, icon("search"), this.columns),
        h("label", { class: "check" }, this.differences, "Only differences"), h("label", { class: "check" }, this.ready, "Only ready agents")),
      h("div", { class: "matrix-frame" }, this.table));
    this.#filter();
  }

  #table() {
    const { agents, leaves } = this.matrix, body = h("tbody");
    const link = (agent) => h("a", { href: `#/agents/${encodeURIComponent(agent)}`, title: this.names[agent], tabIndex: -1 }, agent);
    this.#heads = agents.map((agent) => h("th", { scope: "col", class: this.able.has(agent) ? "able" : undefined }, h("span", {}, link(agent))));
    for (const [group, paths] of abilitiesFirst(grouped(Object.keys(leaves)))) {
      const tr = h("tr", { class: "matrix-group" }, h("th", { colSpan: agents.length + 1, scope: "colgroup" }, h("span", {}, titleOf(group), h("span", { class: "mono muted" }, group))));
      this.#groups.push({ tr, paths });
      body.append(tr, ...paths.map((path) => this.#row(path)));
    }
    return h("table", { class: "matrix", role: "grid", "aria-label": "Agents by capabilities", on: { click: (event) => this.#ask(event.target), keydown: (event) => this.#key(event) } },
      h("thead", {}, h("tr", {}, h("th", { scope: "col", class: "corner" }, "Capability"), this.#heads)), body);
  }

  #row(path) {
    const cells = this.matrix.agents.map((agent) => {
      const cell = this.matrix.leaves[path][agent], [text, kind] = sign(cell), said = words(path, agent, cell);
      return h("td", { class: kind, tabIndex: -1, title: said, "aria-label": said, dataset: cell ? { layer: cell.layer } : undefined }, text);
    });
    const tr = h("tr", {}, h("th", { scope: "row", title: path }, within(path)), cells);
    this.#rows.set(path, { tr, cells });
    return tr;
  }

  #filter() {
    const wish = { rows: this.rows.value, columns: this.columns.value, differences: this.differences.checked, ready: this.ready.checked ? this.able : null };
    const { rows, columns } = chosen(this.matrix, wish), { agents } = this.matrix;
    keepInAddress("/matrix", { rows: wish.rows, agents: wish.columns, differences: wish.differences && 1, ready: wish.ready && 1 });
    agents.forEach((agent, at) => this.#column(at, !columns.has(agent)));
    for (const [path, { tr }] of this.#rows) tr.hidden = !rows.has(path);
    for (const { tr, paths } of this.#groups) tr.hidden = !paths.some((path) => rows.has(path));
    this.#enter(this.table.querySelector("tbody tr:not([hidden]) td:not([hidden])"));
    fill(this.count, `${rows.size} of ${this.#rows.size} capabilities, ${columns.size} of ${agents.length} agents`);
  }

  /** The one cell that Tab comes to. */
  #enter(td) {
    if (this.tabbed) this.tabbed.tabIndex = -1;
    this.tabbed = td;
    if (td) td.tabIndex = 0;
  }

  #column(at, hidden) {
    if (hidden === this.#hidden.has(at)) return;
    this.#hidden[hidden ? "add" : "delete"](at);
    this.#heads[at].hidden = hidden;
    for (const { cells } of this.#rows.values()) cells[at].hidden = hidden;
  }

  #ask(target) {
    const place = this.#place(target.closest?.("td"));
    if (!place) return;
    const { path, agent, cell } = place;
    openDialog(this.names[agent] ?? agent, () => h("div", { class: "stack cell-told" }, h("p", {}, h("code", {}, path), " ", cell && valueMark(cell.value)), h("div", { class: "caps-more" }, explained(cell, cell?.value, cell !== undefined)),
      h("div", { class: "row" }, h("a", { class: "btn", href: `#/agents/${encodeURIComponent(agent)}` }, "All about this agent"))));
  }

  #place(td) {
    for (const [path, { cells }] of td ? this.#rows : []) {
      const at = cells.indexOf(td);
      if (at >= 0) return { path, at, agent: this.matrix.agents[at], cell: this.matrix.leaves[path][this.matrix.agents[at]] };
    }
    return null;
  }

  #key(event) {
    const here = event.target.closest("td"), place = this.#place(here);
    if (!place) return;
    if (event.key === "Enter" || event.key === " ") { event.preventDefault(); return this.#ask(here); }
    const [down, right] = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1] }[event.key] ?? [0, 0];
    if (!down && !right) return;
    event.preventDefault();
    const rows = [...this.#rows.values()].filter(({ tr }) => !tr.hidden), columns = this.matrix.agents.map((_, at) => at).filter((at) => !this.#hidden.has(at));
    const row = rows[rows.findIndex(({ cells }) => cells.includes(here)) + down], column = columns[columns.indexOf(place.at) + right];
    const next = row?.cells[column];
    if (!next) return;
    this.#enter(next);
    next.focus();
  }
}

/** The table is asked for by `Accept`, which a plain link cannot say. */
async function download() {
  try {
    const file = await (await send("capabilities/matrix?explain=1", { accept: "text/csv" })).blob();
    const link = h("a", { href: URL.createObjectURL(file), download: "capabilities.csv" });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  } catch (problem) {
    toast(problem.message, "bad");
  }
}
