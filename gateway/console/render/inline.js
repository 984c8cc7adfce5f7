// Parses the inline part of Markdown into flat tokens: {text}, {code}, {open}, {close}, {image}, {br}. Pure: no DOM. The time is
// linear in the length of the text: every scan that can fail is bounded or remembered. Raw HTML is text.

import { safeImage, safeLink } from "./url_policy.js";
import { pairMarks } from "./emphasis.js";

const PUNCTUATION = /[!-/:-@[-`{-~\p{P}\p{S}]/u;
const SPECIAL = /[\\`*_~[\]!<&\n]|https?:\/\/|www\./g;
const ENTITIES = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0", copy: "©", hellip: "…", mdash: "—", ndash: "–", rarr: "→",
  larr: "←", times: "×", middot: "·" };
const MAX_PAREN_DEPTH = 32;
const MAX_TITLE_CHARS = 1000;

/** `streaming`: more text will follow, so open emphasis and code are closed at the end. */
export function parseInline(text, streaming = false) {
  return new Reader(text, streaming).read();
}

class Reader {
  constructor(text, streaming) {
    Object.assign(this, { text, streaming, at: 0, tokens: [], marks: [], brackets: [], ticks: null, nextClose: 0, noLinkBelow: -1 });
  }

  read() {
    const { text } = this;
    while (this.at < text.length) {
      SPECIAL.lastIndex = this.at;
      const found = SPECIAL.exec(text);
      const upTo = found ? found.index : text.length;
      if (upTo > this.at) this.addText(text.slice(this.at, upTo));
      this.at = upTo;
      if (found) this.special(found[0]);
    }
    const end = { at: text.length, token: { sign: "", run: { length: 0 }, opens: [], closes: [] } };
    pairMarks(this.marks, 0, this.streaming ? end : null);
    this.tokens.push(end.token);
    return mergeTokens(this.tokens);
  }

  special(sign) {
    switch (sign) {
      case "\\": return this.escape();
      case "`": return this.codeSpan();
      case "*": case "_": case "~": return this.mark(sign);
      case "[": return this.bracket("[");
      case "!": return this.text[this.at + 1] === "[" ? this.bracket("![") : this.takeText(1);
      case "]": return this.closeBracket();
      case "<": return this.angle();
      case "&": return this.entity();
      case "\n": return this.newline();
      default: return this.bareLink(sign);
    }
  }

  addText(text) { this.tokens.push({ text }); }

  takeText(length) {
    this.addText(this.text.slice(this.at, this.at + length));
    this.at += length;
  }

  escape() {
    const next = this.text[this.at + 1];
    if (next === "\n") { this.tokens.push({ br: true }); this.at += 2; return; }
    if (next !== undefined && /[!-/:-@[-`{-~]/.test(next)) { this.addText(next); this.at += 2; return; }
    this.takeText(1);
  }

  newline() {
    const last = this.tokens.at(-1);
    if (last?.text?.endsWith("  ")) { last.text = last.text.trimEnd(); this.tokens.push({ br: true }); } else this.addText("\n");
    this.at += 1;
  }

  codeSpan() {
    const { text } = this;
    const length = runLength(text, this.at, "`"), from = this.at + length;
    const to = this.closingTicks(length, from);
    if (to !== undefined) { this.code(text.slice(from, to)); this.at = to + length; return; }
    if (!this.streaming) return this.takeText(length);
    if (from < text.length) this.code(text.slice(from)); // a run at the very end is not shown yet
    this.at = text.length;
  }

  code(text) {
    const flat = text.replaceAll("\n", " ");
    const padded = flat.length > 2 && flat.startsWith(" ") && flat.endsWith(" ") && flat.trim() !== "";
    this.tokens.push({ code: padded ? flat.slice(1, -1) : flat });
  }

  /** The start of the next run of `length` backticks. All runs are located once, so that unmatched ones cost no further scan. */
  closingTicks(length, from) {
    if (!this.ticks) {
      this.ticks = new Map();
      for (const found of this.text.matchAll(/`+/g)) {
        const runs = this.ticks.get(found[0].length) ?? [];
        runs.push(found.index);
        this.ticks.set(found[0].length, runs);
      }
      for (const runs of this.ticks.values()) runs.reverse();
    }
    const runs = this.ticks.get(length) ?? [];
    while (runs.length && runs.at(-1) < from) runs.pop();
    return runs.at(-1);
  }

  mark(sign) {
    const length = runLength(this.text, this.at, sign);
    const before = this.text[this.at - 1] ?? " ", after = this.text[this.at + length] ?? " ";
    if (sign === "~" && length > 2) return this.takeText(length);
    if (this.streaming && this.at + length === this.text.length) { this.at += length; return; } // the next piece decides whether it opens or closes
    const spaceAfter = /\s/.test(after), spaceBefore = /\s/.test(before);
    const markAfter = PUNCTUATION.test(after), markBefore = PUNCTUATION.test(before);
    const left = !spaceAfter && (!markAfter || spaceBefore || markBefore);
    const right = !spaceBefore && (!markBefore || spaceAfter || markAfter);
    const opens = sign === "_" ? left && (!right || markBefore) : left;
    const closes = sign === "_" ? right && (!left || markAfter) : right;
    if (!opens && !closes) return this.takeText(length);
    const run = { sign, length, whole: length, opens, closes, fresh: spaceBefore || markBefore, at: this.at };
    run.token = { sign, run, opens: [], closes: [] };
    this.tokens.push(run.token);
    this.marks.push(run);
    this.at += length;
  }

  bracket(sign) {
    const token = { text: sign };
    this.brackets.push({ token, index: this.tokens.length, image: sign === "![", marks: this.marks.length });
    this.tokens.push(token);
    this.at += sign.length;
  }

  closeBracket() {
    const opener = this.brackets.pop();
    if (!opener || (!opener.image && opener.index < this.noLinkBelow)) return this.takeText(1);
    const target = this.target(this.at + 1);
    if (!target) return this.takeText(1);
    this.at = target.end;
    if (opener.image) return this.image(opener, target.address);
    pairMarks(this.marks, opener.marks, null);
    for (let at = opener.index + 1; at < this.tokens.length; at += 1) {
      if (this.tokens[at].href !== undefined || this.tokens[at].close) this.tokens[at] = { text: "" };
    }
    const href = target.address === null ? null : safeLink(target.address);
    this.tokens[opener.index] = { open: "link", href, title: target.title };
    this.tokens.push({ close: "link" });
    this.noLinkBelow = opener.index; // a link cannot contain a link
  }

  image(opener, address) {
    const alt = this.tokens.splice(opener.index + 1).map((token) => token.text ?? token.code ?? token.image?.alt ?? (token.br ? " " : "")).join("");
    this.marks.length = Math.min(this.marks.length, opener.marks);
    this.tokens[opener.index] = { image: { alt, src: safeImage(address), href: safeLink(address ?? "") } };
  }

  /** `(address "title")`, from the parenthesis on. While streaming, an unfinished address counts as none. */
  target(from) {
    const { text } = this;
    if (text[from] !== "(") return null;
    if (this.nextClose < from) this.nextClose = text.indexOf(")", from) + 1 || Infinity; // one search serves all brackets
    if (this.nextClose === Infinity) return this.openEnd(from);
    let at = skipSpace(text, from + 1);
    const end = text[at] === "<" ? angleEnd(text, at) : addressEnd(text, at);
    if (end < 0) return null;
    const raw = text[at] === "<" ? text.slice(at + 1, end - 1) : text.slice(at, end);
    at = skipSpace(text, end);
    const quoted = at > end ? readTitle(text, at) : null;
    if (quoted) at = skipSpace(text, quoted.end);
    return text[at] === ")" ? { address: unescapeText(raw), title: quoted?.text, end: at + 1 } : null;
  }

  openEnd(from) {
    const rest = this.streaming && !/\s/.test(this.text.slice(from, from + MAX_TITLE_CHARS)) ? this.text.slice(from) : "\n";
    return /\s/.test(rest) ? null : { address: null, end: this.text.length };
  }

  /** `<https://…>`, `<me@example.org>` and `<br>`. Anything else in angle brackets is text, tags too. */
  angle() {
    const { text } = this;
    const end = text.slice(this.at + 1, this.at + 2050).search(/[<>\n]/) + 1;
    const inner = end > 1 && text[this.at + end] === ">" ? text.slice(this.at + 1, this.at + end) : "";
    if (/^br\s*\/?$/i.test(inner)) { this.tokens.push({ br: true }); this.at += end + 1; return; }
    const href = /^[a-z][a-z0-9+.-]*:/i.test(inner) ? safeLink(inner) : /^[\w.+-]+@[\w-]+(?:\.[\w-]+)+$/.test(inner) ? safeLink(`mailto:${inner}`) : null;
    if (!href) return this.takeText(1);
    this.link(href, inner);
    this.at += end + 1;
  }

  entity() {
    const found = /^&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,8}));/i.exec(this.text.slice(this.at, this.at + 12));
    const character = found && decodeEntity(found);
    if (!character) return this.takeText(1);
    this.addText(character);
    this.at += found[0].length;
  }

  bareLink(sign) {
    const { text } = this;
    if (/\w/.test(text[this.at - 1] ?? "")) return this.takeText(sign.length);
    const near = text.slice(this.at, this.at + 2048);
    const url = trimPunctuation(near.match(this.brackets.length ? /^[^\s<\]]*/ : /^[^\s<]*/)[0]);
    const href = url.length > sign.length + 2 ? safeLink(sign === "www." ? `https://${url}` : url) : null;
    if (!href) return this.takeText(Math.max(sign.length, url.length));
    this.link(href, url);
    this.at += url.length;
  }

  link(href, text) { this.tokens.push({ open: "link", href }, { text }, { close: "link" }); }
}

function runLength(text, from, sign) {
  let at = from;
  while (text[at] === sign) at += 1;
  return at - from;
}

function skipSpace(text, at) {
  while (text[at] === " " || text[at] === "\n" || text[at] === "\t") at += 1;
  return at;
}

/** The end of an address without angle brackets: no spaces, parentheses in pairs up to a bounded depth. */
function addressEnd(text, from) {
  let depth = 0, at = from;
  for (; at < text.length; at += 1) {
    const sign = text[at];
    if (sign === "\\") at += 1;
    else if (sign <= " ") break;
    else if (sign === "(") { if (++depth > MAX_PAREN_DEPTH) return -1; }
    else if (sign === ")" && depth-- === 0) break;
  }
  return at;
}

function angleEnd(text, from) {
  for (let at = from + 1; at < text.length; at += 1) {
    if (text[at] === ">") return at + 1;
    if (text[at] === "<" || text[at] === "\n") return -1;
  }
  return -1;
}

function readTitle(text, from) {
  const close = { '"': '"', "'": "'", "(": ")" }[text[from]];
  if (!close) return null;
  const end = text.slice(from + 1, from + 1 + MAX_TITLE_CHARS).indexOf(close);
  return end < 0 ? null : { text: unescapeText(text.slice(from + 1, from + 1 + end)), end: from + end + 2 };
}

function unescapeText(text) {
  return text.replace(/\\([!-/:-@[-`{-~])/g, "$1").replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,8}));/gi, (...found) => decodeEntity(found) ?? found[0]);
}

function decodeEntity([, decimal, hex, name]) {
  if (name) return ENTITIES[name.toLowerCase()];
  const code = decimal ? Number(decimal) : parseInt(hex, 16);
  return code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff) ? String.fromCodePoint(code) : "\ufffd";
}

/** A bare address without the punctuation of the sentence around it. */
function trimPunctuation(url) {
  let end = url.length, surplus = 0;
  for (const sign of url) surplus += sign === ")" ? 1 : sign === "(" ? -1 : 0;
  for (; end > 0; end -= 1) {
    const sign = url[end - 1];
    if (sign === ")" && surplus > 0) surplus -= 1;
    else if (!"?!.,:;*_~'\"]`".includes(sign)) break;
  }
  return url.slice(0, end);
}

/** Replaces runs of marks by the tokens they open and close, and joins adjacent texts. */
function mergeTokens(tokens) {
  const merged = [];
  const addText = (text) => {
    if (text && merged.at(-1)?.text !== undefined) merged.at(-1).text += text;
    else if (text) merged.push({ text });
  };
  for (const token of tokens) {
    if (token.text !== undefined) addText(token.text);
    else if (!token.run) merged.push(token);
    else {
      for (const close of token.closes) merged.push({ close });
      addText(token.sign.repeat(token.run.length));
      for (const open of token.opens.reverse()) merged.push({ open });
    }
  }
  return merged;
}
