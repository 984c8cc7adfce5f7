// A block of code. What grows is appended to; what is long stands in parts, of which a browser lays out those in sight.

import { fill, h } from "../lib/dom.js";
import { copyButton } from "./copy.js";
import { tint } from "./highlight.js";

const PART = 6000; // characters, and on to the line's end

export class Code {
  constructor({ language }) {
    this.label = h("span", { class: "md-lang" });
    this.code = h("code");
    this.node = h("div", { class: "md-code" }, h("div", { class: "md-code-bar" }, this.label, copyButton(() => this.text, "Copy the code")), h("pre", { tabIndex: 0 }, this.code));
    Object.assign(this, { language: null, text: "", plain: true, full: true });
    this.name(language);
  }

  name(language) {
    if (language === this.language) return;
    this.language = language;
    fill(this.label, language || "text");
  }

  show({ kind, language, text: told, closed, before = 0 }) {
    if (kind !== "code") return false;
    this.name(language);
    const text = before ? this.text.slice(0, before) + told : told;
    if (text === this.text && closed === this.closed) return true;
    const tokens = closed ? tint(text, language) : [["", text]], plain = tokens.every(([sort]) => !sort);
    if (plain && this.plain && text.startsWith(this.text)) this.#add("", text.slice(this.text.length));
    else this.#anew(tokens);
    Object.assign(this, { text, closed, plain });
    return true;
  }

  #anew(tokens) {
    this.code.replaceChildren();
    this.full = true;
    for (const [sort, text] of tokens) this.#add(sort, text);
  }

  /** A part is full at the first line's end beyond its room. */
  #add(sort, text) {
    for (let at = 0; at < text.length; ) {
      if (this.full) this.#begin();
      const room = Math.max(PART - this.length, 1);
      const end = text.length - at < room ? text.length : text.indexOf("\n", at + room - 1) + 1 || text.length;
      this.#put(sort, text.slice(at, end));
      this.full = this.length >= PART && text[end - 1] === "\n";
      at = end;
    }
  }

  #begin() {
    this.length = 0;
    this.part = this.code.appendChild(h("span", { class: "md-part" }));
  }

  #put(sort, text) {
    const last = this.part.lastChild;
    this.length += text.length;
    if (!sort && last?.nodeType === Node.TEXT_NODE) last.appendData(text);
    else this.part.append(sort ? h("span", { class: `t-${sort}` }, text) : text);
  }
}
