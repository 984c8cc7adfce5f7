// Turns terminal output into lines of styled text. Pure: no DOM. Reads colours and weight (SGR), carriage return, backspace,
// line erasing and cursor moves; drops every other escape. The number and the length of lines are bounded.

const MAX_LINE_CHARS = 4000; // a longer line wraps
const MAX_ESCAPE_CHARS = 4096; // an unfinished escape that is longer is dropped

const ESCAPE = /\x1b(?:\[([0-9;:?<=>]*)[ -/]*([@-~])|\](?:[^\x07\x1b]*)(?:\x07|\x1b\\)|[PX^_](?:[^\x1b]*)\x1b\\|(?![[\]PX^_])[ -/]*[0-~])/y;
const PLAIN = /[^\x00-\x1f\x7f]+/y;

export class Screen {
  constructor(maxLines = 2000) {
    Object.assign(this, { maxLines, lines: [[]], row: 0, column: 0, style: {}, pending: "", dropped: 0, dirty: new Set([0]) });
  }

  /** Afterwards `dirty` holds the numbers of the changed lines, and `dropped` counts the lines removed from the top. */
  write(text) {
    const all = this.pending + text;
    this.pending = "";
    let at = 0;
    while (at < all.length) {
      PLAIN.lastIndex = at;
      const plain = PLAIN.exec(all);
      if (plain) { this.put(plain[0]); at = PLAIN.lastIndex; continue; }
      if (all[at] !== "\x1b") { this.control(all[at]); at += 1; continue; }
      ESCAPE.lastIndex = at;
      const escape = ESCAPE.exec(all);
      if (escape) { this.escape(escape[1], escape[2]); at = ESCAPE.lastIndex; continue; }
      if (all.length - at < MAX_ESCAPE_CHARS && isUnfinished(all, at)) { this.pending = all.slice(at); break; }
      at += 1;
    }
    this.trim();
  }

  control(character) {
    if (character === "\n") { this.row += 1; this.column = 0; if (this.row >= this.lines.length) this.lines.push([]); this.dirty.add(this.row); this.trim(); }
    else if (character === "\r") this.column = 0;
    else if (character === "\b") this.column = Math.max(0, this.column - 1);
    else if (character === "\t") this.put(" ".repeat(8 - (this.column % 8)));
  }

  put(text) {
    for (let at = 0; at < text.length; ) {
      if (this.column >= MAX_LINE_CHARS) this.control("\n");
      const part = text.slice(at, at + MAX_LINE_CHARS - this.column);
      this.lines[this.row] = writeAt(this.lines[this.row], this.column, part, this.style);
      this.dirty.add(this.row);
      this.column += part.length;
      at += part.length;
    }
  }

  escape(params = "", kind) {
    const number = Number.parseInt(params, 10) || 0;
    if (kind === "m") this.style = applyStyle(this.style, params);
    else if (kind === "K") this.eraseLine(number);
    else if (kind === "A") this.row = Math.max(0, this.row - (number || 1));
    else if (kind === "B") this.row = Math.min(this.lines.length - 1, this.row + (number || 1));
    else if (kind === "C") this.column = Math.min(MAX_LINE_CHARS, this.column + (number || 1));
    else if (kind === "D") this.column = Math.max(0, this.column - (number || 1));
    else if (kind === "G") this.column = Math.min(MAX_LINE_CHARS, Math.max(0, (number || 1) - 1));
    else if (kind === "J" && number >= 2) { this.dropped += this.lines.length; this.lines = [[]]; this.row = this.column = 0; this.dirty = new Set([0]); }
  }

  /** `mode`: 0 erases from the cursor on, 1 up to the cursor, 2 the whole line. */
  eraseLine(mode) {
    const line = this.lines[this.row];
    if (mode === 2) this.lines[this.row] = [];
    else this.lines[this.row] = mode === 1 ? writeAt(line, 0, " ".repeat(this.column), {}) : sliceLine(line, 0, this.column);
    this.dirty.add(this.row);
  }

  trim() {
    const surplus = this.lines.length - this.maxLines;
    if (surplus <= this.maxLines / 4) return; // a quarter at a time, because each removal moves all other lines
    this.lines.splice(0, surplus);
    this.row = Math.max(0, this.row - surplus);
    this.dropped += surplus;
    this.dirty = new Set([...this.dirty].map((row) => row - surplus).filter((row) => row >= 0));
  }
}

function isUnfinished(text, at) {
  const second = text[at + 1];
  return second === undefined || second === "]" || "PX^_".includes(second) || /^\x1b(?:\[[0-?]*[ -/]*|[ -/]*)$/.test(text.slice(at, at + 200));
}

/** The line with `text` written at `column`. A line is [{text, style}]. */
function writeAt(line, column, text, style) {
  const length = line.reduce((sum, run) => sum + run.text.length, 0);
  if (column === length) {
    const last = line.at(-1);
    if (last && isSameStyle(last.style, style)) { last.text += text; return line; }
    return [...line, { text, style }];
  }
  const padded = column > length ? [...line, { text: " ".repeat(column - length), style: {} }] : line;
  return [...sliceLine(padded, 0, column), { text, style }, ...sliceLine(padded, column + text.length, Infinity)];
}

function sliceLine(line, from, to) {
  const runs = [];
  let at = 0;
  for (const run of line) {
    const text = run.text.slice(Math.max(0, from - at), Math.max(0, to - at));
    if (text) runs.push({ text, style: run.style });
    at += run.text.length;
  }
  return runs;
}

const isSameStyle = (first, second) => first === second || JSON.stringify(first) === JSON.stringify(second);

const FLAGS = { 1: "bold", 2: "dim", 3: "italic", 4: "underline", 7: "inverse", 9: "strike" };
const RESET_CODES = { 22: ["bold", "dim"], 23: ["italic"], 24: ["underline"], 27: ["inverse"], 29: ["strike"], 39: ["fg"], 49: ["bg"] };

/** The style after an SGR escape: {bold, dim, …, fg, bg}. A colour is a number from 0 to 15, or "#rrggbb". */
function applyStyle(style, params) {
  const codes = params.split(/[;:]/).slice(0, 64).map((code) => Number.parseInt(code, 10) || 0);
  let next = { ...style };
  for (let at = 0; at < codes.length; at += 1) {
    const code = codes[at], tens = Math.floor(code / 10), units = code % 10;
    if (code === 0) next = {};
    else if (FLAGS[code]) next[FLAGS[code]] = true;
    else if (RESET_CODES[code]) for (const name of RESET_CODES[code]) delete next[name];
    else if (code === 38 || code === 48) at = extendedColour(next, code === 38 ? "fg" : "bg", codes, at);
    else if ((tens === 3 || tens === 4) && units < 8) next[tens === 3 ? "fg" : "bg"] = units;
    else if ((tens === 9 || tens === 10) && units < 8) next[tens === 9 ? "fg" : "bg"] = units + 8;
  }
  return next;
}

function extendedColour(style, name, codes, at) {
  if (codes[at + 1] === 5) { style[name] = paletteColour(codes[at + 2] ?? 0); return at + 2; }
  if (codes[at + 1] === 2) { style[name] = hex(codes.slice(at + 2, at + 5)); return at + 4; }
  return at;
}

function paletteColour(number) {
  if (number < 16) return number;
  if (number > 231) { const grey = 8 + (Math.min(number, 255) - 232) * 10; return hex([grey, grey, grey]); }
  const step = (value) => (value ? value * 40 + 55 : 0), cube = number - 16;
  return hex([step(Math.floor(cube / 36)), step(Math.floor(cube / 6) % 6), step(cube % 6)]);
}

const hex = (parts) => `#${[0, 1, 2].map((at) => Math.min(255, parts[at] ?? 0).toString(16).padStart(2, "0")).join("")}`;
