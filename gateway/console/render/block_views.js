// Markdown blocks as elements. An update changes only the elements whose source changed. Text from an agent can become only
// the elements listed here, and text.

import { fill, h } from "../lib/dom.js";
import { CodeView } from "./code_view.js";
import { ListView, TableView } from "./lists.js";
import { inlineNodes } from "./inline_view.js";

const MAX_PIECE_CHARS = 12_000; // longer paragraphs are parsed in pieces

/** Makes the last children of `parent`, shown so far by the `old` views, show `blocks`. `live`: the last block is unfinished. */
export function reconcile(parent, old, blocks, live) {
  const views = blocks.map((block, index) => {
    const unfinished = live && index === blocks.length - 1, view = old[index];
    if (view?.show(block, unfinished)) return view;
    const created = new VIEWS[block.kind](block);
    created.show(block, unfinished);
    if (view) view.node.replaceWith(created.node);
    else parent.append(created.node);
    return created;
  });
  for (const surplus of old.slice(blocks.length)) surplus.node.remove();
  return views;
}

class TextView {
  #pieces = [];

  constructor({ kind, level }) {
    this.tag = kind === "heading" ? `h${level}` : "p";
    // Headings of a message rank below the headings of the page.
    this.node = kind === "heading" ? h("div", { class: `md-h md-h${level}`, role: "heading", "aria-level": String(Math.min(level + 2, 6)) }) : h("p");
  }

  show({ kind, level, text }, live) {
    if (this.tag !== (kind === "heading" ? `h${level}` : kind === "paragraph" ? "p" : "")) return false;
    if (text === this.text && !live && !this.live) return true;
    Object.assign(this, { text, live });
    if (text.length <= MAX_PIECE_CHARS && !this.#pieces.length) fill(this.node, inlineNodes(text, live));
    else this.#showInPieces(text, live);
    return true;
  }

  #showInPieces(text, live) {
    const parts = splitText(text);
    if (!this.#pieces.length) this.node.replaceChildren();
    parts.forEach((part, index) => {
      const unfinished = live && index === parts.length - 1, piece = this.#pieces[index];
      if (piece?.part === part && !piece.unfinished && !unfinished) return;
      const node = piece?.node ?? this.node.appendChild(h("span"));
      fill(node, inlineNodes(part, unfinished));
      this.#pieces[index] = { part, node, unfinished };
    });
    for (const surplus of this.#pieces.splice(parts.length)) surplus.node.remove();
  }
}

/** Splits at spaces where possible. A link may be split in two, but only in a paragraph of many pages. */
function splitText(text) {
  const parts = [];
  for (let at = 0; at < text.length; ) {
    const space = text.length - at > MAX_PIECE_CHARS ? text.lastIndexOf(" ", at + MAX_PIECE_CHARS) : -1;
    const end = space > at ? space : at + MAX_PIECE_CHARS;
    parts.push(text.slice(at, end));
    at = end;
  }
  return parts;
}

class QuoteView {
  #views = [];
  #first = 0; // index of the first view: the blocks before it are final
  node = h("blockquote");

  show({ kind, blocks, raw, before = 0 }, live) {
    if (kind !== "quote") return false;
    const isSame = raw === this.raw && before === this.#first;
    if (!isSame || live || this.live) this.#views = reconcile(this.node, this.#views.slice(before - this.#first), blocks, live);
    this.#first = before;
    Object.assign(this, { raw, live });
    return true;
  }
}

class RuleView {
  node = h("hr");
  show({ kind }) { return kind === "rule"; }
}

const VIEWS = { paragraph: TextView, heading: TextView, code: CodeView, quote: QuoteView, list: ListView, table: TableView, rule: RuleView };
