// A code block. New text is appended. A long block consists of parts, so that the browser lays out only the visible ones.

import { fill, h } from "../lib/dom.js";
import { copyButton } from "./copy.js";
import { highlight } from "./highlight.js";

const PART_CHARS = 6000; // a part ends at the next line end

export class CodeView {
  constructor({ language }) {
    this.label = h("span", { class: "md-lang" });
    this.code = h("code");
    this.node = h("div", { class: "md-code" }, h("div", { class: "md-code-bar" }, this.label, copyButton(() => this.text, "Copy the code")),
      h("pre", { tabIndex: 0 }, this.code));
    Object.assign(this, { language: null, text: "", plain: true, full: true });
    this.setLanguage(language);
  }

  setLanguage(language) {
    if (language === this.language) return;
    this.language = language;
    fill(this.label, language || "text");
  }

  show({ kind, language, text: newText, closed, before = 0 }) {
    if (kind !== "code") return false;
    this.setLanguage(language);
    const text = before ? this.text.slice(0, before) + newText : newText;
    if (text === this.text && closed === this.closed) return true;
    const tokens = closed ? highlight(text, language) : [["", text]], plain = tokens.every(([tokenKind]) => !tokenKind);
    if (plain && this.plain && text.startsWith(this.text)) this.#addText("", text.slice(this.text.length));
    else this.#redraw(tokens);
    Object.assign(this, { text, closed, plain });
    return true;
  }

  #redraw(tokens) {
    this.code.replaceChildren();
    this.full = true;
    for (const [tokenKind, text] of tokens) this.#addText(tokenKind, text);
  }

  /** A part is full at the first line end after PART_CHARS characters. */
  #addText(tokenKind, text) {
    for (let at = 0; at < text.length; ) {
      if (this.full) this.#startPart();
      const room = Math.max(PART_CHARS - this.length, 1);
      const end = text.length - at < room ? text.length : text.indexOf("\n", at + room - 1) + 1 || text.length;
      this.#appendText(tokenKind, text.slice(at, end));
      this.full = this.length >= PART_CHARS && text[end - 1] === "\n";
      at = end;
    }
  }

  #startPart() {
    this.length = 0;
    this.part = this.code.appendChild(h("span", { class: "md-part" }));
  }

  #appendText(tokenKind, text) {
    const last = this.part.lastChild;
    this.length += text.length;
    if (!tokenKind && last?.nodeType === Node.TEXT_NODE) last.appendData(text);
    else this.part.append(tokenKind ? h("span", { class: `t-${tokenKind}` }, text) : text);
  }
}
