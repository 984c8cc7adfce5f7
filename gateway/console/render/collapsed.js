// Text that is too long to show, collapsed in its source form. The browser lays it out only when the user opens it.

import { fill, h } from "../lib/dom.js";

/** Blocks, items or rows that are shown as elements. 250,000 elements would block any browser. */
export const MAX_ELEMENTS = 3000;

export class CollapsedText {
  #parts = [];
  #length = 0;
  #summary = h("summary");
  #body = h("pre");

  constructor() {
    this.node = h("details", { class: "md-rest", on: { toggle: () => fill(this.#body, this.node.open && this.#parts.join("\n")) } }, this.#summary, this.#body);
  }

  /** Replaces the parts from index `from` on. */
  show(parts, from = 0) {
    for (const removed of this.#parts.splice(from)) this.#length -= removed.length + 1;
    for (const part of parts) { this.#parts.push(part); this.#length += part.length + 1; }
    fill(this.#summary, `${Math.max(this.#length - 1, 0)} more characters`);
  }
}
