// Lists and tables: blocks of many parts. Those that are settled come once (see Growing), and stay.

import { fill, h } from "../lib/dom.js";
import { cells } from "./blocks.js";
import { reconcile } from "./block_views.js";
import { Folded, MOST } from "./collapsed.js";
import { inlineNodes } from "./inline_view.js";

/** Parts by their places: `make()` gives {node, show(part, live)}. Those beyond MOST are folded away, as `raw(part)`. */
class Parts {
  #shown = [];

  constructor(parent, make, { beyond, raw }) {
    Object.assign(this, { parent, make, beyond, raw });
  }

  /** `parts` from the n-th on, the last of them unfinished if `live`. */
  show(parts, from, live) {
    const room = Math.max(MOST - from, 0);
    parts.slice(0, room).forEach((part, index) => this.#at(from + index).show(part, live && index === parts.length - 1));
    for (const left of this.#shown.splice(Math.min(from + parts.length, MOST))) left.node.remove();
    this.#fold(parts.slice(room), Math.max(from - MOST, 0));
  }

  #at(index) {
    if (!this.#shown[index]) this.parent.append((this.#shown[index] = this.make()).node);
    return this.#shown[index];
  }

  #fold(parts, from) {
    if (!parts.length && !this.rest) return;
    if (!this.rest) this.beyond((this.rest = new Folded()).node);
    this.rest.show(parts.map(this.raw), from);
    this.rest.node.hidden = parts.length + from === 0;
  }

  clear() {
    this.show([], 0, false);
  }
}

export class List {
  constructor({ start }) {
    this.ordered = start !== undefined;
    this.node = h(this.ordered ? "ol" : "ul", start === undefined || start === 1 ? {} : { start });
    this.items = new Parts(this.node, () => new Item(), { beyond: (node) => this.node.append(h("li", { class: "task" }, node)), raw: (item) => item.raw });
  }

  show({ kind, start, loose, items, before = 0 }, live) {
    if (kind !== "list" || (start !== undefined) !== this.ordered) return false;
    this.node.classList.toggle("loose", loose);
    this.items.show(items, before, live);
    return true;
  }
}

class Item {
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

export class Table {
  head = h("tr");
  body = h("tbody");
  // Wide ones scroll in their own frame, which therefore can be reached by key.
  node = h("div", { class: "md-table", tabIndex: 0, role: "group", "aria-label": "Table" }, h("table", {}, h("thead", {}, this.head), this.body));
  rows = new Parts(this.body, () => new Row(this), { beyond: (node) => this.node.append(node), raw: (row) => row });

  show({ kind, align, head, rows, before = 0 }, live) {
    if (kind !== "table") return false;
    const top = `${align} ${head}`, first = live && !rows.length && !before;
    if (top !== this.top || first || this.first) fill(this.head, head.map((cell, index) => h("th", { scope: "col", class: align[index] || undefined }, inlineNodes(cell, first))));
    if (top !== this.top) this.rows.clear();
    Object.assign(this, { top, first, align, width: head.length });
    this.rows.show(rows, before, live);
    return true;
  }
}

class Row {
  node = h("tr");

  constructor(table) { this.table = table; }

  show(row, live) {
    if (this.row === row && !live && !this.live) return;
    const { width, align } = this.table, told = cells(row).slice(0, width);
    fill(this.node, Array.from({ length: width }, (_, at) => h("td", { class: align[at] || undefined }, inlineNodes(told[at] ?? "", live && at === told.length - 1))));
    Object.assign(this, { row, live });
  }
}
