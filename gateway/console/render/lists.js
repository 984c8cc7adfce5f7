// Views of lists and tables. Items and rows that are final are built once (see streaming_blocks.js) and stay.

import { fill, h } from "../lib/dom.js";
import { splitCells } from "./blocks.js";
import { reconcile } from "./block_views.js";
import { CollapsedText, MAX_ELEMENTS } from "./collapsed.js";
import { inlineNodes } from "./inline_view.js";

/** Parts by index: `create()` returns {node, show(part, live)}. Parts beyond MAX_ELEMENTS are collapsed to `raw(part)`. */
class PartViews {
  #shown = [];

  constructor(parent, create, { appendRest, raw }) {
    Object.assign(this, { parent, create, appendRest, raw });
  }

  /** Shows `parts` from index `from` on; `live`: the last one is unfinished. */
  show(parts, from, live) {
    const room = Math.max(MAX_ELEMENTS - from, 0);
    parts.slice(0, room).forEach((part, index) => this.#viewAt(from + index).show(part, live && index === parts.length - 1));
    for (const surplus of this.#shown.splice(Math.min(from + parts.length, MAX_ELEMENTS))) surplus.node.remove();
    this.#collapse(parts.slice(room), Math.max(from - MAX_ELEMENTS, 0));
  }

  #viewAt(index) {
    if (!this.#shown[index]) this.parent.append((this.#shown[index] = this.create()).node);
    return this.#shown[index];
  }

  #collapse(parts, from) {
    if (!parts.length && !this.rest) return;
    if (!this.rest) this.appendRest((this.rest = new CollapsedText()).node);
    this.rest.show(parts.map(this.raw), from);
    this.rest.node.hidden = parts.length + from === 0;
  }

  clear() {
    this.show([], 0, false);
  }
}

export class ListView {
  constructor({ start }) {
    this.ordered = start !== undefined;
    this.node = h(this.ordered ? "ol" : "ul", start === undefined || start === 1 ? {} : { start });
    this.items = new PartViews(this.node, () => new ItemView(),
      { appendRest: (node) => this.node.append(h("li", { class: "task" }, node)), raw: (item) => item.raw });
  }

  show({ kind, start, loose, items, before = 0 }, live) {
    if (kind !== "list" || (start !== undefined) !== this.ordered) return false;
    this.node.classList.toggle("loose", loose);
    this.items.show(items, before, live);
    return true;
  }
}

class ItemView {
  #views = [];
  node = h("li");

  show({ checked, raw, blocks }, live) {
    if (checked !== undefined && !this.box) this.node.prepend((this.box = h("input", { type: "checkbox", disabled: true, "aria-label": "Task" })));
    if (this.box) this.box.checked = checked;
    this.node.classList.toggle("task", Boolean(this.box));
    if (this.raw === raw && !live && !this.live) return;
    this.#views = reconcile(this.node, this.#views, blocks, live);
    Object.assign(this, { raw, live });
  }
}

export class TableView {
  head = h("tr");
  body = h("tbody");
  // A wide table scrolls in its own frame, which must be reachable by keyboard.
  node = h("div", { class: "md-table", tabIndex: 0, role: "group", "aria-label": "Table" }, h("table", {}, h("thead", {}, this.head), this.body));
  rows = new PartViews(this.body, () => new RowView(this), { appendRest: (node) => this.node.append(node), raw: (row) => row });

  show({ kind, align, head, rows, before = 0 }, live) {
    if (kind !== "table") return false;
    const header = `${align} ${head}`, first = live && !rows.length && !before;
    if (header !== this.header || first || this.first) fill(this.head,
      head.map((cell, index) => h("th", { scope: "col", class: align[index] || undefined }, inlineNodes(cell, first))));
    if (header !== this.header) this.rows.clear();
    Object.assign(this, { header, first, align, width: head.length });
    this.rows.show(rows, before, live);
    return true;
  }
}

class RowView {
  node = h("tr");

  constructor(table) { this.table = table; }

  show(row, live) {
    if (this.row === row && !live && !this.live) return;
    const { width, align } = this.table, cells = splitCells(row).slice(0, width);
    fill(this.node, Array.from({ length: width },
      (_, column) => h("td", { class: align[column] || undefined }, inlineNodes(cells[column] ?? "", live && column === cells.length - 1))));
    Object.assign(this, { row, live });
  }
}
