// Markdown that grows, as elements. An update touches only what changed: settled blocks are never looked at again, and
// of the open ones only the parts whose source differs. What an agent writes can become elements of this list and text.

import { fill, h } from "../lib/dom.js";
import { cells } from "./blocks.js";
import { copyButton } from "./copy.js";
import { Growing } from "./growing.js";
import { inline } from "./inline.js";
import { tint } from "./tint.js";

const DEEPEST = 24; // emphasis within emphasis: beyond, it is read but not shown
const PIECE = 12_000; // characters of a paragraph that are read as one
const MOST = 3000; // blocks, items or rows that are shown as such: 250,000 elements would stop any browser. Then see Rest

export class Markdown {
  #growing = new Growing();
  #open = [];
  #text = "";

  constructor() {
    this.node = h("div", { class: "md" });
  }

  update(text, streaming = false) {
    if (text === this.#text && streaming === this.streaming) return;
    this.#text = text;
    this.streaming = streaming;
    const { restart, settled, open } = this.#growing.update(text, streaming);
    if (restart) { this.node.replaceChildren(); this.#open = []; }
    const views = reconcile(this.node, this.#open, bounded([...settled, ...open]), streaming);
    this.#open = views.slice(settled.length);
  }
}

/** The whole text, once. */
export function markdown(text) {
  const whole = new Markdown();
  whole.update(text);
  return whole.node;
}

function bounded(blocks) {
  if (blocks.length <= MOST) return blocks;
  const rest = blocks.slice(MOST).map((block) => block.raw ?? block.text).join("\n\n");
  return [...blocks.slice(0, MOST), { kind: "rest", text: rest }];
}

/** Makes the last children of `parent`, which `old` views show, show `blocks`. `live`: the last of them is unfinished. */
function reconcile(parent, old, blocks, live) {
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

class Code {
  constructor({ language }) {
    this.label = h("span", { class: "md-lang" });
    this.code = h("code");
    this.node = h("div", { class: "md-code" }, h("div", { class: "md-code-bar" }, this.label, copyButton(() => this.text, "Copy the code")), h("pre", { tabIndex: 0 }, this.code));
    this.language = null;
    this.name(language);
  }

  name(language) {
    if (language === this.language) return;
    this.language = language;
    fill(this.label, language || "text");
  }

  show({ kind, language, text, closed }) {
    if (kind !== "code") return false;
    this.name(language);
    if (text === this.text && closed === this.closed) return true;
    const only = this.code.childNodes.length === 1 && this.code.firstChild.nodeType === Node.TEXT_NODE;
    if (closed) fill(this.code, tint(text, language).map(([kind, part]) => (kind ? h("span", { class: `t-${kind}` }, part) : part)));
    else if (only && text.startsWith(this.text)) this.code.firstChild.appendData(text.slice(this.text.length));
    else fill(this.code, text);
    Object.assign(this, { text, closed });
    return true;
  }
}

class Quote {
  #views = [];
  node = h("blockquote");

  show({ kind, blocks, raw }, live) {
    if (kind !== "quote") return false;
    if (raw !== this.raw || live || this.live) this.#views = reconcile(this.node, this.#views, blocks, live);
    Object.assign(this, { raw, live });
    return true;
  }
}

class List {
  #items = [];

  constructor({ start }) {
    this.ordered = start !== undefined;
    this.node = h(this.ordered ? "ol" : "ul", start === undefined || start === 1 ? {} : { start });
  }

  show({ kind, start, loose, items }, live) {
    if (kind !== "list" || (start !== undefined) !== this.ordered) return false;
    this.node.classList.toggle("loose", loose);
    const shown = items.slice(0, MOST), over = items.slice(MOST);
    shown.forEach((item, index) => this.#show(item, index, live && index === items.length - 1));
    for (const left of this.#items.splice(shown.length)) left.node.remove();
    if (over.length) { this.rest ??= this.node.appendChild(h("li", { class: "task" })); fill(this.rest, plainly(over.map((item) => item.raw).join("\n"))); }
    return true;
  }

  #show(item, index, live) {
    const shown = (this.#items[index] ??= { node: this.node.appendChild(h("li")), views: [], box: null });
    if (item.checked !== undefined && !shown.box) { shown.box = h("input", { type: "checkbox", disabled: true, "aria-label": "Task" }); shown.node.prepend(shown.box); }
    if (shown.box) shown.box.checked = item.checked;
    shown.node.classList.toggle("task", Boolean(shown.box));
    if (shown.raw === item.raw && !live && !shown.live) return;
    shown.views = reconcile(shown.node, shown.views, item.blocks, live);
    Object.assign(shown, { raw: item.raw, live });
  }
}

class Table {
  #rows = [];
  head = h("tr");
  body = h("tbody");
  // Wide ones scroll in their own frame, which therefore can be reached by key.
  node = h("div", { class: "md-table", tabIndex: 0, role: "group", "aria-label": "Table" }, h("table", {}, h("thead", {}, this.head), this.body));

  show({ kind, align, head, rows }, live) {
    if (kind !== "table") return false;
    const top = `${align} ${head}`;
    if (top !== this.top || live) fill(this.head, head.map((cell, index) => h("th", { scope: "col", class: align[index] || undefined }, inlineNodes(cell, live && !rows.length))));
    if (top !== this.top) this.#rows.splice(0).forEach((row) => row.node.remove());
    this.top = top;
    const shown = rows.slice(0, MOST), over = rows.slice(MOST);
    shown.forEach((row, index) => this.#show(row, index, head.length, align, live && index === rows.length - 1));
    for (const left of this.#rows.splice(shown.length)) left.node.remove();
    if (over.length) { this.rest ??= this.node.appendChild(h("div")); fill(this.rest, plainly(over.join("\n"))); }
    return true;
  }

  #show(row, index, width, align, live) {
    const shown = (this.#rows[index] ??= { node: this.body.appendChild(h("tr")) });
    if (shown.row === row && !live && !shown.live) return;
    const told = cells(row).slice(0, width);
    fill(shown.node, Array.from({ length: width }, (_, at) => h("td", { class: align[at] || undefined }, inlineNodes(told[at] ?? "", live && at === told.length - 1))));
    Object.assign(shown, { row, live });
  }
}

class Rule {
  node = h("hr");
  show({ kind }) { return kind === "rule"; }
}

/** What is too much to show, as it was written and folded away: a browser lays out only what is open. */
class Rest {
  node = h("div");

  show({ kind, text }) {
    if (kind !== "rest") return false;
    fill(this.node, plainly(text));
    return true;
  }
}

function plainly(text) {
  const body = h("pre");
  return h("details", { class: "md-rest", on: { toggle: () => fill(body, text) } }, h("summary", {}, `${text.length} more characters`), body);
}

const VIEWS = { paragraph: Text, heading: Text, code: Code, quote: Quote, list: List, table: Table, rule: Rule, rest: Rest };

/** Text with emphasis, links, code and images, as nodes. */
export function inlineNodes(text, live = false) {
  const root = document.createDocumentFragment(), stack = [root];
  let hidden = 0;
  for (const token of inline(text, live)) {
    if (token.open && stack.length > DEEPEST) hidden += 1;
    else if (token.open) stack.push(stack.at(-1).appendChild(opened(token)));
    else if (token.close && hidden) hidden -= 1;
    else if (token.close) stack.pop();
    else stack.at(-1).append(leaf(token));
  }
  return root;
}

function opened({ open, href, title }) {
  if (open !== "link") return h(open);
  return href ? h("a", { href, title, target: "_blank", rel: "noopener noreferrer" }) : h("span", { class: "md-dead", title: "This address is not one to open from here." });
}

function leaf({ text, code, image, br }) {
  if (text !== undefined) return text;
  if (code !== undefined) return h("code", {}, code);
  if (br) return h("br");
  if (image.src) return h("img", { src: image.src, alt: image.alt, loading: "lazy", decoding: "async" });
  if (image.href) return h("a", { href: image.href, target: "_blank", rel: "noopener noreferrer" }, `Image: ${image.alt || image.href}`);
  return h("span", { class: "md-dead" }, image.alt || "image");
}
