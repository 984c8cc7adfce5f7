// JSON as a tree that can be used by keyboard and marks changed values. A branch is built when the user opens it.

import { fill, h } from "../lib/dom.js";
import { copyButton } from "./copy.js";

const CLIP_CHARS = 160; // longer strings are clipped at first
const PAGE_MEMBERS = 200; // members of an object or array that are shown at once
const OPEN_DEPTH = 2;
const FLASH_MS = 1500;

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
  #limit = PAGE_MEMBERS;

  constructor(key, path, depth) {
    Object.assign(this, { key, path, depth, value: undefined, shape: "" });
    this.node = h("div", { class: "tree-item" });
  }

  show(value, highlight) {
    const shape = Array.isArray(value) ? "array" : isBranch(value) ? "object" : "leaf";
    const known = this.shape !== "";
    if (shape !== this.shape) this.#frame(shape);
    const before = this.value;
    this.value = value;
    if (shape === "leaf") {
      if (!known || !Object.is(before, value)) fill(this.valueNode, leafView(value));
      if (highlight && known && !Object.is(before, value)) flash(this.node);
    } else this.#members(highlight || known);
    if (highlight && !known) flash(this.node);
  }

  #frame(shape) {
    this.shape = shape;
    this.#children.clear();
    const name = this.key === "" ? null : h("span", { class: "tree-key" }, this.key);
    const copy = copyButton(() => toPointer(this.path), "Copy the path");
    if (shape === "leaf") {
      this.valueNode = h("span", { class: "tree-value" });
      fill(this.node, h("div", { class: "tree-row" }, name, this.valueNode, this.path.length > 0 && copy));
      return;
    }
    this.count = h("span", { class: "tree-count" });
    this.list = h("div", { class: "tree-list" });
    this.details = h("details", { open: this.depth < OPEN_DEPTH, on: { toggle: () => this.#members(false) } },
      h("summary", { class: "tree-row" }, name, this.count), this.list);
    fill(this.node, this.details, this.path.length > 0 && copy); // beside the summary: screen readers cannot reach a button inside a button
  }

  #members(highlight) {
    const keys = Object.keys(this.value);
    fill(this.count, this.shape === "array" ? `[${keys.length}]` : keys.length ? `{${keys.length}}` : "{}");
    if (!this.details.open) return;
    const shown = keys.slice(0, this.#limit), shownKeys = new Set(shown);
    for (const [key, child] of this.#children) if (!shownKeys.has(key)) { child.node.remove(); this.#children.delete(key); }
    const isNew = !this.list.childNodes.length;
    this.more?.remove();
    shown.forEach((key, index) => {
      let child = this.#children.get(key);
      if (!child) this.#children.set(key, (child = new Branch(key, [...this.path, key], this.depth + 1)));
      if (this.list.childNodes[index] !== child.node) this.list.insertBefore(child.node, this.list.childNodes[index] ?? null);
      child.show(this.value[key], highlight && !isNew);
    });
    if (keys.length > this.#limit) this.list.append((this.more = moreButton(keys.length - this.#limit,
      () => { this.#limit += PAGE_MEMBERS; this.#members(false); })));
  }
}

function moreButton(count, act) {
  return h("button", { type: "button", class: "btn quiet tree-more", on: { click: act } }, `Show ${count} more`);
}

function leafView(value) {
  if (typeof value !== "string") return h("span", { class: `tree-${value === null ? "null" : typeof value}` }, String(value));
  const node = h("span", { class: "tree-string" }, value.slice(0, CLIP_CHARS));
  if (value.length <= CLIP_CHARS) return node;
  const more = moreButton(value.length - CLIP_CHARS, () => fill(node, value));
  node.append("…", more);
  return node;
}

/** The JSON Pointer (RFC 6901) of a path, as in AG-UI's state deltas. */
export function toPointer(path) {
  return path.map((key) => `/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

/** Marks a node as changed for a moment. */
export function flash(node) {
  node.classList.remove("flash");
  void node.offsetWidth; // forces a reflow, so that a second change restarts the animation
  node.classList.add("flash");
  clearTimeout(node.flashTimer);
  node.flashTimer = setTimeout(() => node.classList.remove("flash"), FLASH_MS);
}
