// Blocks of Markdown as elements. An update touches only what changed: of the open blocks, the parts whose source differs.
// What an agent writes can become elements of this list and text.

import { fill, h } from "../lib/dom.js";
import { Code } from "./code_view.js";
import { List, Table } from "./lists.js";
import { inlineNodes } from "./inline_view.js";

const PIECE = 12_000; // characters of a paragraph that are read as one

/** Makes the last children of `parent`, which `old` views show, show `blocks`. `live`: the last of them is unfinished. */
export function reconcile(parent, old, blocks, live) {
  const views = blocks.map((block, index) => {
    const unfinished = live && index === blocks.length - 1, view = old[index];
    if (view?.show(block, unfinished)) return view;
    const made = new VIEWS[block.kind](block);
    made.show(block, unfinished);
    if (view) view.node.replaceWith(made.node);
    else parent.append(made.node);
    return made;
  });
  for (const left of old.slice(blocks.length)) left.node.remove();
  return views;
}

class Text {
  #pieces = [];

  constructor({ kind, level }) {
    this.tag = kind === "heading" ? `h${level}` : "p";
    // Headings of a message stand below those of the page.
    this.node = kind === "heading" ? h("div", { class: `md-h md-h${level}`, role: "heading", "aria-level": String(Math.min(level + 2, 6)) }) : h("p");
  }

  show({ kind, level, text }, live) {
    if (this.tag !== (kind === "heading" ? `h${level}` : kind === "paragraph" ? "p" : "")) return false;
    if (text === this.text && !live && !this.live) return true;
    Object.assign(this, { text, live });
    if (text.length <= PIECE && !this.#pieces.length) fill(this.node, inlineNodes(text, live));
    else this.#inPieces(text, live);
    return true;
  }

  #inPieces(text, live) {
    const parts = cut(text);
    if (!this.#pieces.length) this.node.replaceChildren();
    parts.forEach((part, index) => {
      const unfinished = live && index === parts.length - 1, piece = this.#pieces[index];
      if (piece?.part === part && !piece.unfinished && !unfinished) return;
      const node = piece?.node ?? this.node.appendChild(h("span"));
      fill(node, inlineNodes(part, unfinished));
      this.#pieces[index] = { part, node, unfinished };
    });
    for (const left of this.#pieces.splice(parts.length)) left.node.remove();
  }
}

/** At spaces where there are some: a link may be cut in two, which only a paragraph of a dozen pages has to fear. */
function cut(text) {
  const parts = [];
  for (let at = 0; at < text.length; ) {
    const space = text.length - at > PIECE ? text.lastIndexOf(" ", at + PIECE) : -1;
    const end = space > at ? space : at + PIECE;
    parts.push(text.slice(at, end));
    at = end;
  }
  return parts;
}

class Quote {
  #views = [];
  #first = 0; // the place of the first of them: those before are settled
  node = h("blockquote");

  show({ kind, blocks, raw, before = 0 }, live) {
    if (kind !== "quote") return false;
    const same = raw === this.raw && before === this.#first;
    if (!same || live || this.live) this.#views = reconcile(this.node, this.#views.slice(before - this.#first), blocks, live);
    this.#first = before;
    Object.assign(this, { raw, live });
    return true;
  }
}

class Rule {
  node = h("hr");
  show({ kind }) { return kind === "rule"; }
}

const VIEWS = { paragraph: Text, heading: Text, code: Code, quote: Quote, list: List, table: Table, rule: Rule };
