// The matrix page: all agents by all capabilities. Each cell is built once and filters only hide cells. The arrow keys move
// between cells; Enter opens the source of a value.

import { getJson, send } from "../lib/api.js";
import { fill, h, icon, openDialog, toast } from "../lib/dom.js";
import { explanation, valueMark } from "../render/capability.js";
import { groupPaths, groupTitle, pathInGroup } from "../render/paths.js";
import { saveInAddress } from "./agent_parts.js";
import { cellLabel, cellMark, filterMatrix, identityLast } from "./matrix_cells.js";

export async function matrixPage(_, query, { abort }) {
  const [matrix, listed] = await Promise.all([getJson("capabilities/matrix?explain=1", { signal: abort }), getJson("agents", { signal: abort })]);
  return new MatrixPage(matrix, listed.agents, query).node;
}

class MatrixPage {
  #rows = new Map(); // path → {tr, cells: [td by column]}
  #groups = []; // {tr, paths}
  #heads = [];
  #hidden = new Set();

  constructor(matrix, listed, query) {
    this.matrix = matrix;
    this.names = Object.fromEntries(listed.map((agent) => [agent.id, agent.identity.name ?? agent.id]));
    this.readyAgents = new Set(listed.filter((agent) => agent.availability.status === "ready").map((agent) => agent.id));
    const field = (name, label) => h("input",
      { type: "search", value: query.get(name) ?? "", placeholder: label, "aria-label": label, on: { input: () => this.#filter() } });
    const box = (name) => h("input", { type: "checkbox", checked: query.has(name), on: { change: () => this.#filter() } });
    this.rows = field("rows", "Filter capabilities");
    this.columns = field("agents", "Filter agents");
    this.differences = box("differences");
    this.ready = box("ready");
    this.count = h("span", { class: "muted small", role: "status" });
    this.table = this.#table();
    this.node = h("div", { class: "page wide stack" },
      h("div", { class: "page-head" }, h("div", { class: "grow" }, h("h1", {}, "Matrix"),
        h("p", { class: "muted" }, "✓ means yes, ✗ means no, and a blank cell means unknown. Select a cell to see the source of its value.")), this.count,
        h("button", { class: "btn", on: { click: downloadCsv } }, icon("save"), "CSV")),
      h("div", { class: "row wrap filters" }, h("div", { class: "search" }, icon("search"), this.rows),
        h("div", { class: "search" }, icon("search"), this.columns),
        h("label", { class: "check" }, this.differences, "Only differences"), h("label", { class: "check" }, this.ready, "Only ready agents")),
      h("div", { class: "matrix-frame" }, this.table));
    this.#filter();
  }

  #table() {
    const { agents, leaves: rows } = this.matrix, body = h("tbody");
    const link = (agent) => h("a", { href: `#/agents/${encodeURIComponent(agent)}`, title: this.names[agent], tabIndex: -1 }, agent);
    this.#heads = agents.map((agent) => h("th", { scope: "col", class: this.readyAgents.has(agent) ? "ready" : undefined }, h("span", {}, link(agent))));
    for (const [group, paths] of identityLast(groupPaths(Object.keys(rows)))) {
      const tr = h("tr", { class: "matrix-group" },
        h("th", { colSpan: agents.length + 1, scope: "colgroup" }, h("span", {}, groupTitle(group), h("span", { class: "mono muted" }, group))));
      this.#groups.push({ tr, paths });
      body.append(tr, ...paths.map((path) => this.#row(path)));
    }
    return h("table", { class: "matrix", role: "grid", "aria-label": "Agents by capabilities",
      on: { click: (event) => this.#openCell(event.target), keydown: (event) => this.#onKey(event) } },
      h("thead", {}, h("tr", {}, h("th", { scope: "col", class: "corner" }, "Capability"), this.#heads)), body);
  }

  #row(path) {
    const cells = this.matrix.agents.map((agent) => {
      const cell = this.matrix.leaves[path][agent], [text, kind] = cellMark(cell), label = cellLabel(path, agent, cell);
      return h("td", { class: kind, tabIndex: -1, title: label, "aria-label": label, dataset: cell ? { layer: cell.layer } : undefined }, text);
    });
    const tr = h("tr", {}, h("th", { scope: "row", title: path }, pathInGroup(path)), cells);
    this.#rows.set(path, { tr, cells });
    return tr;
  }

  #filter() {
    const filter = { rows: this.rows.value, columns: this.columns.value, differences: this.differences.checked,
      ready: this.ready.checked ? this.readyAgents : null };
    const { rows, columns } = filterMatrix(this.matrix, filter), { agents } = this.matrix;
    saveInAddress("/matrix", { rows: filter.rows, agents: filter.columns, differences: filter.differences && 1, ready: filter.ready && 1 });
    agents.forEach((agent, index) => this.#hideColumn(index, !columns.has(agent)));
    for (const [path, { tr }] of this.#rows) tr.hidden = !rows.has(path);
    for (const { tr, paths } of this.#groups) tr.hidden = !paths.some((path) => rows.has(path));
    this.#setTabStop(this.table.querySelector("tbody tr:not([hidden]) td:not([hidden])"));
    fill(this.count, `${rows.size} of ${this.#rows.size} capabilities, ${columns.size} of ${agents.length} agents`);
  }

  /** Makes the cell the only one that Tab reaches. */
  #setTabStop(td) {
    if (this.tabStop) this.tabStop.tabIndex = -1;
    this.tabStop = td;
    if (td) td.tabIndex = 0;
  }

  #hideColumn(index, hidden) {
    if (hidden === this.#hidden.has(index)) return;
    this.#hidden[hidden ? "add" : "delete"](index);
    this.#heads[index].hidden = hidden;
    for (const { cells } of this.#rows.values()) cells[index].hidden = hidden;
  }

  #openCell(target) {
    const position = this.#findCell(target.closest?.("td"));
    if (!position) return;
    const { path, agent, cell } = position;
    openDialog(this.names[agent] ?? agent, () => h("div", { class: "stack cell-source" },
      h("p", {}, h("code", {}, path), " ", cell && valueMark(cell.value)), h("div", { class: "caps-more" }, explanation(cell, cell?.value, cell !== undefined)),
      h("div", { class: "row" }, h("a", { class: "btn", href: `#/agents/${encodeURIComponent(agent)}` }, "Open agent"))));
  }

  #findCell(td) {
    for (const [path, { cells }] of td ? this.#rows : []) {
      const column = cells.indexOf(td), agent = this.matrix.agents[column];
      if (column >= 0) return { path, column, agent, cell: this.matrix.leaves[path][agent] };
    }
    return null;
  }

  #onKey(event) {
    const current = event.target.closest("td"), position = this.#findCell(current);
    if (!position) return;
    if (event.key === "Enter" || event.key === " ") { event.preventDefault(); return this.#openCell(current); }
    const [down, right] = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1] }[event.key] ?? [0, 0];
    if (!down && !right) return;
    event.preventDefault();
    const rows = [...this.#rows.values()].filter(({ tr }) => !tr.hidden),
      columns = this.matrix.agents.map((_, index) => index).filter((index) => !this.#hidden.has(index));
    const row = rows[rows.findIndex(({ cells }) => cells.includes(current)) + down], column = columns[columns.indexOf(position.column) + right];
    const next = row?.cells[column];
    if (!next) return;
    this.#setTabStop(next);
    next.focus();
  }
}

/** The CSV is selected by the `Accept` header, which a plain link cannot set. */
async function downloadCsv() {
  try {
    const file = await (await send("capabilities/matrix?explain=1", { accept: "text/csv" })).blob();
    const link = h("a", { href: URL.createObjectURL(file), download: "capabilities.csv" });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  } catch (problem) {
    toast(problem.message, "bad");
  }
}
