// Live terminal output. It scrolls with the output while the user stays at the end.

import { fill, h } from "../lib/dom.js";
import { Screen } from "./ansi.js";
import { copyButton } from "./copy.js";

const MAX_LINES = 2000;
const END_TOLERANCE_PX = 24; // distance from the bottom that still counts as the end

export class Terminal {
  #screen = new Screen(MAX_LINES);
  #text = "";
  #dropped = 0;
  #drawPending = false;

  constructor({ title = "" } = {}) {
    this.body = h("div", { class: "term-body", tabIndex: 0, role: "group", "aria-label": title ? `Output of ${title}` : "Terminal output" });
    this.state = h("span", { class: "term-state" });
    this.node = h("div", { class: "term" }, h("div", { class: "term-bar" }, h("span", { class: "mono clip grow" }, title), this.state,
      copyButton(() => this.text(), "Copy the output")), this.body);
  }

  write(text) {
    this.#screen.write(text);
    this.#scheduleDraw();
  }

  /** Sets the whole output. A continuation is only appended, so that a progress bar does not flicker. */
  set(text) {
    const known = text.startsWith(this.#text) ? this.#text.length : -1;
    if (known < 0) { this.#screen = new Screen(MAX_LINES); this.#dropped = 0; this.body.replaceChildren(); }
    this.#text = text;
    this.write(text.slice(Math.max(known, 0)));
  }

  /** `exitCode`: null if it is unknown or a signal ended the program. */
  finish(exitCode) {
    const known = exitCode !== null && exitCode !== undefined;
    this.state.className = `term-state tag ${exitCode === 0 ? "good" : known ? "bad" : ""}`;
    fill(this.state, known ? `exit ${exitCode}` : "ended");
    this.#draw();
  }

  text() {
    return this.#screen.lines.map((line) => line.map((run) => run.text).join("")).join("\n");
  }

  /** Draws at most once per frame, because output comes in thousands of pieces. */
  #scheduleDraw() {
    if (this.#drawPending) return;
    this.#drawPending = true;
    requestAnimationFrame(() => { this.#drawPending = false; this.#draw(); });
  }

  #draw() {
    const { body } = this, screen = this.#screen;
    const atEnd = body.scrollHeight - body.scrollTop - body.clientHeight < END_TOLERANCE_PX;
    for (let removed = screen.dropped - this.#dropped; removed > 0 && body.firstChild; removed -= 1) body.firstChild.remove();
    this.#dropped = screen.dropped;
    while (body.childNodes.length < screen.lines.length) body.append(h("div"));
    for (const row of screen.dirty) if (screen.lines[row]) fill(body.childNodes[row], screen.lines[row].map(styledSpan),
      screen.lines[row].length || row === screen.lines.length - 1 ? null : "\u200b");
    screen.dirty.clear();
    if (atEnd) body.scrollTop = body.scrollHeight;
  }
}

const STYLE_NAMES = ["bold", "dim", "italic", "underline", "inverse", "strike"];

function styledSpan({ text, style }) {
  const classes = STYLE_NAMES.filter((name) => style[name]), colours = {};
  for (const side of ["fg", "bg"]) {
    if (typeof style[side] === "number") classes.push(`${side}${style[side]}`);
    else if (style[side]) { colours[`--ansi-${side}`] = style[side]; classes.push(side); }
  }
  return classes.length ? h("span", { class: classes.map((name) => `a-${name}`).join(" "), style: colours }, text) : text;
}
