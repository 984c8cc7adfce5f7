// A snapshot to read: groups of leaves, each with its value and who said it. A row opens to tell the source, the time,
// and whom that overridden. Updates touch the rows that changed, and mark them for a moment.

import { fill, h } from "../lib/dom.js";
import { flatten, grouped, KNOWN, brief, same, titleOf, within } from "./paths.js";
import { blink, Tree } from "./tree.js";

/** The whole snapshot as a node. `explain` may be missing: then nobody is named. */
export function capabilityTree(capabilities, explain) {
  const tree = new CapabilityTree();
  tree.update(capabilities, explain);
  return tree.node;
}

export class CapabilityTree {
  #rows = new Map();
  #groups = new Map();
  #told = null;

  constructor() {
    this.unknown = h("input", { type: "checkbox", on: { change: () => this.#draw(false) } });
    this.body = h("div", { class: "caps-groups" });
    this.node = h("div", { class: "caps" }, this.body, h("label", { class: "check caps-unknown" }, this.unknown, "Show what nobody knows"));
  }

  update(capabilities, explain) {
    const first = !this.#told;
    this.#told = { values: flatten(capabilities), explain: explain ?? {} };
    this.#draw(!first);
  }

  #draw(flash) {
    const { values, explain } = this.#told;
    const paths = new Set([...Object.keys(values), ...(this.unknown.checked ? KNOWN.filter((path) => !isTold(values, path)) : [])]);
    for (const [path, row] of this.#rows) if (!paths.has(path)) { row.node.remove(); this.#rows.delete(path); }
    const groups = grouped(paths);
    for (const [name, group] of this.#groups) if (!groups.some(([wanted]) => wanted === name)) { group.node.remove(); this.#groups.delete(name); }
    groups.forEach(([name, members], at) => this.#group(name, at, members, values, explain, flash));
  }

  #group(name, at, members, values, explain, flash) {
    if (!this.#groups.has(name)) {
      const list = h("div", { class: "caps-list" });
      this.#groups.set(name, { list, node: h("section", { class: "caps-group" }, h("h3", {}, titleOf(name), h("span", { class: "caps-name mono" }, name)), list) });
    }
    const { node, list } = this.#groups.get(name);
    if (this.body.childNodes[at] !== node) this.body.insertBefore(node, this.body.childNodes[at] ?? null);
    members.forEach((path, index) => {
      const known = this.#rows.get(path), row = known ?? new Row(path);
      this.#rows.set(path, row);
      const changed = row.show(path in values, values[path], explain[path]);
      if (list.childNodes[index] !== row.node) list.insertBefore(row.node, list.childNodes[index] ?? null);
      if (flash && (changed || !known)) blink(row.node);
    });
  }
}

const isTold = (values, path) => path in values || Object.keys(values).some((other) => other.startsWith(`${path}.`));

class Row {
  constructor(path) {
    this.value = h("span", { class: "caps-value" });
    this.speaker = h("span", { class: "layer" });
    this.more = h("div", { class: "caps-more" });
    this.details = h("details", { on: { toggle: () => this.#open() } }, h("summary", {}, h("span", { class: "caps-key mono" }, within(path)), this.value, this.speaker), this.more);
    this.node = h("div", { class: "caps-row" }, this.details);
  }

  /** True if the value is another. */
  show(known, value, told) {
    const changed = this.known !== undefined && (this.known !== known || !same(this.said, value));
    const news = this.known === undefined || changed || !same(this.told, told);
    Object.assign(this, { known, said: value, told });
    if (!news) return false;
    this.node.classList.toggle("unknown", !known);
    fill(this.value, known ? valueMark(value) : h("span", { class: "muted" }, "unknown"));
    this.speaker.className = `layer ${told?.layer ?? ""}`;
    fill(this.speaker, told?.layer ?? "", told?.overridden && h("span", { class: "caps-over", title: "It overridden another" }, "↥"));
    this.#open();
    return changed;
  }

  /** What stands inside is built when it is looked at. */
  #open() {
    if (this.details.open) fill(this.more, explained(this.told, this.said, this.known));
  }
}

/** ✓, ✗ or the value, said for those who cannot see it too. */
export function valueMark(value) {
  if (value === true) return h("span", { class: "is-yes" }, h("span", { "aria-hidden": "true" }, "✓"), h("span", { class: "sr" }, "yes"));
  if (value === false) return h("span", { class: "is-no" }, h("span", { "aria-hidden": "true" }, "✗"), h("span", { class: "sr" }, "no"));
  return h("span", { class: "said", title: Array.isArray(value) || typeof value === "object" ? undefined : String(value) }, brief(value, 90));
}

/** Who said it, from where and when, and what others had said. */
export function explained(told, value, known = true) {
  if (!known) return h("p", { class: "muted small" }, "Nobody has said. Unknown is not no: a client may try, and the gateway lets it pass.");
  const whole = value !== null && typeof value === "object" ? new Tree({ label: "The whole value" }) : null;
  whole?.update(value);
  return [whole?.node, told ? [speech(told, "Said by"), (told.overridden ?? []).map((other) => speech(other, "Overridden"))] : h("p", { class: "muted small" }, "Who said it was not asked.")];
}

function speech({ layer, source, at, value }, words) {
  return h("div", { class: "caps-speech small" }, h("span", { class: "muted" }, words), h("span", { class: `layer ${layer}` }, layer), words === "Overridden" && h("span", { class: "mono" }, brief(value)),
    h("span", { class: "mono" }, source), at && h("time", { dateTime: at, title: at, class: "muted" }, when(at)));
}

export function when(at) {
  const date = new Date(at);
  if (Number.isNaN(date.valueOf())) return at;
  const today = new Date().toDateString() === date.toDateString();
  return today ? date.toLocaleTimeString() : date.toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
}
