// Shows a capability snapshot: groups of rows, each with a value and the layer it comes from. An open row shows the source,
// the time, and overridden values. An update changes and briefly marks only the rows that differ.

import { fill, h } from "../lib/dom.js";
import { AGUI_PATHS, flatten, groupPaths, groupTitle, isEqual, pathInGroup, summarize } from "./paths.js";
import { flash, Tree } from "./tree.js";

/** The snapshot as a node. `explain`: the sources of the values; may be missing. */
export function capabilityTree(capabilities, explain) {
  const tree = new CapabilityTree();
  tree.update(capabilities, explain);
  return tree.node;
}

export class CapabilityTree {
  #rows = new Map();
  #groups = new Map();
  #snapshot = null;

  constructor() {
    this.showUnknown = h("input", { type: "checkbox", on: { change: () => this.#draw(false) } });
    this.body = h("div", { class: "caps-groups" });
    this.node = h("div", { class: "caps" }, this.body, h("label", { class: "check caps-unknown" }, this.showUnknown, "Show unknown capabilities"));
  }

  update(capabilities, explain) {
    const isFirst = !this.#snapshot;
    this.#snapshot = { values: flatten(capabilities), explain: explain ?? {} };
    this.#draw(!isFirst);
  }

  #draw(highlight) {
    const { values, explain } = this.#snapshot;
    const paths = new Set([...Object.keys(values), ...(this.showUnknown.checked ? AGUI_PATHS.filter((path) => !isReported(values, path)) : [])]);
    for (const [path, row] of this.#rows) if (!paths.has(path)) { row.node.remove(); this.#rows.delete(path); }
    const groups = groupPaths(paths);
    for (const [name, group] of this.#groups) if (!groups.some(([other]) => other === name)) { group.node.remove(); this.#groups.delete(name); }
    groups.forEach(([name, members], index) => this.#group(name, index, members, values, explain, highlight));
  }

  #group(name, index, members, values, explain, highlight) {
    if (!this.#groups.has(name)) {
      const list = h("div", { class: "caps-list" });
      this.#groups.set(name, { list, node: h("section", { class: "caps-group" },
        h("h3", {}, groupTitle(name), h("span", { class: "caps-name mono" }, name)), list) });
    }
    const { node, list } = this.#groups.get(name);
    if (this.body.childNodes[index] !== node) this.body.insertBefore(node, this.body.childNodes[index] ?? null);
    members.forEach((path, rowIndex) => {
      const known = this.#rows.get(path), row = known ?? new Row(path);
      this.#rows.set(path, row);
      const changed = row.show(path in values, values[path], explain[path]);
      if (list.childNodes[rowIndex] !== row.node) list.insertBefore(row.node, list.childNodes[rowIndex] ?? null);
      if (highlight && (changed || !known)) flash(row.node);
    });
  }
}

const isReported = (values, path) => path in values || Object.keys(values).some((other) => other.startsWith(`${path}.`));

class Row {
  constructor(path) {
    this.value = h("span", { class: "caps-value" });
    this.layer = h("span", { class: "layer" });
    this.more = h("div", { class: "caps-more" });
    this.details = h("details", { on: { toggle: () => this.#open() } },
      h("summary", {}, h("span", { class: "caps-key mono" }, pathInGroup(path)), this.value, this.layer), this.more);
    this.node = h("div", { class: "caps-row" }, this.details);
  }

  /** Returns whether the value changed. `statement`: {layer, source, since, overridden}. */
  show(known, value, statement) {
    const changed = this.known !== undefined && (this.known !== known || !isEqual(this.shownValue, value));
    const needsDraw = this.known === undefined || changed || !isEqual(this.statement, statement);
    Object.assign(this, { known, shownValue: value, statement });
    if (!needsDraw) return false;
    this.node.classList.toggle("unknown", !known);
    fill(this.value, known ? valueMark(value) : h("span", { class: "muted" }, "unknown"));
    this.layer.className = `layer ${statement?.layer ?? ""}`;
    fill(this.layer, statement?.layer ?? "", statement?.overridden && h("span", { class: "caps-over", title: "This value overrides another one." }, "↥"));
    this.#open();
    return changed;
  }

  /** The content of a row is built when the row is opened. */
  #open() {
    if (this.details.open) fill(this.more, explanation(this.statement, this.shownValue, this.known));
  }
}

/** ✓, ✗ or the value, with a text for screen readers. */
export function valueMark(value) {
  if (value === true) return h("span", { class: "is-yes" }, h("span", { "aria-hidden": "true" }, "✓"), h("span", { class: "sr" }, "yes"));
  if (value === false) return h("span", { class: "is-no" }, h("span", { "aria-hidden": "true" }, "✗"), h("span", { class: "sr" }, "no"));
  return h("span", { class: "plain-value", title: Array.isArray(value) || typeof value === "object" ? undefined : String(value) }, summarize(value, 90));
}

/** The source and time of a value, and the values it overrides. */
export function explanation(statement, value, known = true) {
  if (!known) return h("p", { class: "muted small" },
    "No source reports this capability. A client may still use it: the gateway does not block an unknown capability.");
  const tree = value !== null && typeof value === "object" ? new Tree({ label: "Full value" }) : null;
  tree?.update(value);
  return [tree?.node, statement ? [statementRow(statement, "Source"), (statement.overridden ?? []).map((other) => statementRow(other, "Overridden"))]
    : h("p", { class: "muted small" }, "The source of this value was not requested.")];
}

function statementRow({ layer, source, since, value }, label) {
  return h("div", { class: "caps-statement small" }, h("span", { class: "muted" }, label), h("span", { class: `layer ${layer}` }, layer),
    label === "Overridden" && h("span", { class: "mono" }, summarize(value)),
    h("span", { class: "mono" }, source), since && h("time", { dateTime: since, title: since, class: "muted" }, formatTime(since)));
}

/** The time of day for today, else date and time. */
export function formatTime(timestamp) {
  const date = new Date(timestamp);
  if (Number.isNaN(date.valueOf())) return timestamp;
  const isToday = new Date().toDateString() === date.toDateString();
  return isToday ? date.toLocaleTimeString() : date.toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
}
