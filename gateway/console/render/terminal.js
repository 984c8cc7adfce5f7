// A terminal's output as it comes, at its end as long as the reader stays there.

import { fill, h } from "../lib/dom.js";
import { Screen } from "./ansi.js";
import { copyButton } from "./copy.js";

const MOST = 2000; // lines
const NEAR = 24; // pixels from the bottom that still count as being there

export class Terminal {
  #screen = new Screen(MOST);
  #text = "";
  #dropped = 0;
  #planned = false;

  constructor({ title = "" } = {}) {
    this.body = h("div", { class: "term-body", tabIndex: 0, role: "group", "aria-label": title ? `Output of ${title}` : "Terminal output" });
    this.state = h("span", { class: "term-state" });
    this.node = h("div", { class: "term" }, h("div", { class: "term-bar" }, h("span", { class: "mono clip grow" }, title), this.state, copyButton(() => this.text(), "Copy the output")), this.body);
  }

  write(text) {
    this.#screen.write(text);
    this.#plan();
  }

  /** All of the output so far. What only goes on is written on, so a bar that moves does not flicker. */
  set(text) {
    const known = text.startsWith(this.#text) ? this.#text.length : -1;
    if (known < 0) { this.#screen = new Screen(MOST); this.#dropped = 0; this.body.replaceChildren(); }
    this.#text = text;
    this.write(text.slice(Math.max(known, 0)));
  }

  /** `exitCode`: null where it is not known, or where a signal ended it. */
  finish(exitCode) {
    const known = exitCode !== null && exitCode !== undefined;
    this.state.className = `term-state tag ${exitCode === 0 ? "good" : known ? "bad" : ""}`;
    fill(this.state, known ? `exit ${exitCode}` : "ended");
    this.#draw();
  }

  text() {
    return this.#screen.lines.map((line) => line.map((run) => run.text).join("")).join("\n");
  }

  /** Once a frame at most: output comes in thousands of pieces. */
  #plan() {
    if (this.#planned) return;
    this.#planned = true;
    requestAnimationFrame(() => { this.#planned = false; this.#draw(); });
  }

  #draw() {
    const { body } = this, screen = this.#screen;
    const atEnd = body.scrollHeight - body.scrollTop - body.clientHeight < NEAR;
    for (let gone = screen.dropped - this.#dropped; gone > 0 && body.firstChild; gone -= 1) body.firstChild.remove();
    this.#dropped = screen.dropped;
    while (body.childNodes.length < screen.lines.length) body.append(h("div"));
    for (const row of screen.dirty) if (screen.lines[row]) fill(body.childNodes[row], screen.lines[row].map(span), screen.lines[row].length || row === screen.lines.length - 1 ? null : "\u200b");
    screen.dirty.clear();
    if (atEnd) body.scrollTop = body.scrollHeight;
  }
}

const NAMES = ["bold", "dim", "italic", "underline", "inverse", "strike"];

function span({ text, style }) {
  const classes = NAMES.filter((name) => style[name]), own = {};
  for (const side of ["fg", "bg"]) {
    if (typeof style[side] === "number") classes.push(`${side}${style[side]}`);
    else if (style[side]) { own[`--ansi-${side}`] = style[side]; classes.push(side); }
  }
  return classes.length ? h("span", { class: classes.map((name) => `a-${name}`).join(" "), style: own }, text) : text;
}
