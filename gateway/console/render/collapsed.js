// What is too much to show, as it was written and folded away: a browser lays out only what is open.

import { fill, h } from "../lib/dom.js";

/** Blocks, items or rows that are shown as such: 250,000 elements would stop any browser. */
export const MOST = 3000;

export class Folded {
  #parts = [];
  #length = 0;
  #summary = h("summary");
  #body = h("pre");

  constructor() {
    this.node = h("details", { class: "md-rest", on: { toggle: () => fill(this.#body, this.node.open && this.#parts.join("\n")) } }, this.#summary, this.#body);
  }

  /** `parts` from the n-th on; those before it stay. */
  show(parts, from = 0) {
    for (const gone of this.#parts.splice(from)) this.#length -= gone.length + 1;
    for (const part of parts) { this.#parts.push(part); this.#length += part.length + 1; }
    fill(this.#summary, `${Math.max(this.#length - 1, 0)} more characters`);
  }
}
