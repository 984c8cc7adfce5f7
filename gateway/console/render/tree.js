// JSON as a tree that can be walked by key, and that shows what changed. Branches are built when they are opened.

import { fill, h } from "../lib/dom.js";
import { copyButton } from "./copy.js";

const CLIPPED = 160; // characters of a string that are shown at first
const PAGE = 200; // members of an object or array at once
const OPEN_DEPTH = 2;
const FLASH = 1500; // ms

export class Tree {
  #root = null;

  constructor({ label = "Value" } = {}) {
    this.node = h("div", { class: "tree", role: "group", "aria-label": label });
  }

  update(value) {
    if (!this.#root) {
      this.#root = new Branch("", [], 0);
      this.node.append(this.#root.node);
    }
    this.#root.show(value, false);
  }
}

const isBranch = (value) => typeof value === "object" && value !== null;

class Branch {
  #children = new Map();
  #limit = PAGE;

  constructor(key, path, depth) {
    Object.assign(this, { key, path, depth, value: undefined, shape: "" });
    this.node = h("div", { class: "tree-item" });
  }

  show(value, flash) {
    const shape = Array.isArray(value) ? "array" : isBranch(value) ? "object" : "leaf";
    const known = this.shape !== "";
    if (shape !== this.shape) this.#frame(shape);
    const before = this.value;
    this.value = value;
    if (shape === "leaf") {
      if (!known || !Object.is(before, value)) fill(this.said, leaf(value));
      if (flash && known && !Object.is(before, value)) blink(this.node);
    } else this.#members(flash || known);
    if (flash && !known) blink(this.node);
  }

  #frame(shape) {
    this.shape = shape;
    this.#children.clear();
    const name = this.key === "" ? null : h("span", { class: "tree-key" }, this.key);
    const copy = copyButton(() => pointer(this.path), "Copy the path");
    if (shape === "leaf") {
      this.said = h("span", { class: "tree-value" });
      fill(this.node, h("div", { class: "tree-row" }, name, this.said, this.path.length > 0 && copy));
      return;
    }
    this.count = h("span", { class: "tree-count" });
    this.list = h("div", { class: "tree-list" });
    this.details = h("details", { open: this.depth < OPEN_DEPTH, on: { toggle: () => this.#members(false) } },
      h("summary", { class: "tree-row" }, name, this.count), this.list);
    fill(this.node, this.details, this.path.length > 0 && copy); // beside the summary: a button within a button cannot be said
  }

  #members(flash) {
    const keys = Object.keys(this.value);
    fill(this.count, this.shape === "array" ? `[${keys.length}]` : keys.length ? `{${keys.length}}` : "{}");
    if (!this.details.open) return;
    const shown = keys.slice(0, this.#limit), wanted = new Set(shown);
    for (const [key, child] of this.#children) if (!wanted.has(key)) { child.node.remove(); this.#children.delete(key); }
    const fresh = !this.list.childNodes.length;
    this.more?.remove();
    shown.forEach((key, index) => {
      let child = this.#children.get(key);
      if (!child) this.#children.set(key, (child = new Branch(key, [...this.path, key], this.depth + 1)));
      if (this.list.childNodes[index] !== child.node) this.list.insertBefore(child.node, this.list.childNodes[index] ?? null);
      child.show(this.value[key], flash && !fresh);
    });
    if (keys.length > this.#limit) this.list.append((this.more = moreButton(keys.length - this.#limit, () => { this.#limit += PAGE; this.#members(false); })));
  }
}

function moreButton(count, act) {
  return h("button", { type: "button", class: "btn quiet tree-more", on: { click: act } }, `${count} more`);
}

function leaf(value) {
  if (typeof value !== "string") return h("span", { class: `tree-${value === null ? "null" : typeof value}` }, String(value));
  const said = h("span", { class: "tree-string" }, value.slice(0, CLIPPED));
  if (value.length <= CLIPPED) return said;
  const more = moreButton(value.length - CLIPPED, () => fill(said, value));
  said.append("…", more);
  return said;
}

/** RFC 6901, as AG-UI's state deltas write it. */
export function pointer(path) {
  return path.map((key) => `/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

/** Marks a node as just changed, for a moment. */
export function blink(node) {
  node.classList.remove("flash");
  void node.offsetWidth; // so that a second change within the first one's moment starts over
  node.classList.add("flash");
  clearTimeout(node.blinking);
  node.blinking = setTimeout(() => node.classList.remove("flash"), FLASH);
}
