// What a terminal prints → lines of styled text. Pure. Colours and weight (SGR), carriage return, backspace, erasing of
// a line, and steps up; every other escape is read and dropped. Bounded in lines and in the length of one.

const LONGEST = 4000; // characters of a line: then it wraps
const PENDING = 4096; // of an escape that has not ended

const ESCAPE = /\x1b(?:\[([0-9;:?<=>]*)[ -/]*([@-~])|\](?:[^\x07\x1b]*)(?:\x07|\x1b\\)|[PX^_](?:[^\x1b]*)\x1b\\|(?![[\]PX^_])[ -/]*[0-~])/y;
const PLAIN = /[^\x00-\x1f\x7f]+/y;

export class Screen {
  constructor(most = 2000) {
    Object.assign(this, { most, lines: [[]], row: 0, column: 0, style: {}, rest: "", dropped: 0, dirty: new Set([0]) });
  }

  /** `dirty` then has the numbers of the lines that changed; `dropped` counts those gone from the top. */
  write(text) {
    const all = this.rest + text;
    this.rest = "";
    let at = 0;
    while (at < all.length) {
      PLAIN.lastIndex = at;
      const plain = PLAIN.exec(all);
      if (plain) { this.put(plain[0]); at = PLAIN.lastIndex; continue; }
      if (all[at] !== "\x1b") { this.control(all[at]); at += 1; continue; }
      ESCAPE.lastIndex = at;
      const found = ESCAPE.exec(all);
      if (found) { this.escape(found[1], found[2]); at = ESCAPE.lastIndex; continue; }
      if (all.length - at < PENDING && unended(all, at)) { this.rest = all.slice(at); break; }
      at += 1;
    }
    this.trim();
  }

  control(sign) {
    if (sign === "\n") { this.row += 1; this.column = 0; if (this.row >= this.lines.length) this.lines.push([]); this.dirty.add(this.row); this.trim(); }
    else if (sign === "\r") this.column = 0;
    else if (sign === "\b") this.column = Math.max(0, this.column - 1);
    else if (sign === "\t") this.put(" ".repeat(8 - (this.column % 8)));
  }

  put(text) {
    for (let at = 0; at < text.length; ) {
      if (this.column >= LONGEST) this.control("\n");
      const part = text.slice(at, at + LONGEST - this.column);
      this.lines[this.row] = laid(this.lines[this.row], this.column, part, this.style);
      this.dirty.add(this.row);
      this.column += part.length;
      at += part.length;
    }
  }

  escape(given = "", kind) {
    const number = Number.parseInt(given, 10) || 0;
    if (kind === "m") this.style = styled(this.style, given);
    else if (kind === "K") { this.lines[this.row] = number === 2 ? [] : number === 1 ? laid(this.lines[this.row], 0, " ".repeat(this.column), {}) : part(this.lines[this.row], 0, this.column); this.dirty.add(this.row); }
    else if (kind === "A") this.row = Math.max(0, this.row - (number || 1));
    else if (kind === "B") this.row = Math.min(this.lines.length - 1, this.row + (number || 1));
    else if (kind === "C") this.column = Math.min(LONGEST, this.column + (number || 1));
    else if (kind === "D") this.column = Math.max(0, this.column - (number || 1));
    else if (kind === "G") this.column = Math.min(LONGEST, Math.max(0, (number || 1) - 1));
    else if (kind === "J" && number >= 2) { this.dropped += this.lines.length; this.lines = [[]]; this.row = this.column = 0; this.dirty = new Set([0]); }
  }

  trim() {
    const surplus = this.lines.length - this.most;
    if (surplus <= this.most / 4) return; // by the quarter: taking one line at a time would move them all each time
    this.lines.splice(0, surplus);
    this.row = Math.max(0, this.row - surplus);
    this.dropped += surplus;
    this.dirty = new Set([...this.dirty].map((row) => row - surplus).filter((row) => row >= 0));
  }
}

function unended(text, at) {
  const second = text[at + 1];
  return second === undefined || second === "]" || "PX^_".includes(second) || /^\x1b(?:\[[0-?]*[ -/]*|[ -/]*)$/.test(text.slice(at, at + 200));
}

/** A line is [{text, style}]. `text` over what stands at `column`, or after it. */
function laid(line, column, text, style) {
  const length = line.reduce((sum, run) => sum + run.text.length, 0);
  if (column === length) {
    const last = line.at(-1);
    if (last && same(last.style, style)) { last.text += text; return line; }
    return [...line, { text, style }];
  }
  const padded = column > length ? [...line, { text: " ".repeat(column - length), style: {} }] : line;
  return [...part(padded, 0, column), { text, style }, ...part(padded, column + text.length, Infinity)];
}

function part(line, from, to) {
  const found = [];
  let at = 0;
  for (const run of line) {
    const text = run.text.slice(Math.max(0, from - at), Math.max(0, to - at));
    if (text) found.push({ text, style: run.style });
    at += run.text.length;
  }
  return found;
}

const same = (one, other) => one === other || JSON.stringify(one) === JSON.stringify(other);

const FLAGS = { 1: "bold", 2: "dim", 3: "italic", 4: "underline", 7: "inverse", 9: "strike" };
const ENDS = { 22: ["bold", "dim"], 23: ["italic"], 24: ["underline"], 27: ["inverse"], 29: ["strike"], 39: ["fg"], 49: ["bg"] };

/** The style after an SGR: {bold, dim, …, fg, bg}; a colour is 0 to 15, or "#rrggbb". */
function styled(style, given) {
  const codes = given.split(/[;:]/).slice(0, 64).map((code) => Number.parseInt(code, 10) || 0);
  let next = { ...style };
  for (let at = 0; at < codes.length; at += 1) {
    const code = codes[at], ten = Math.floor(code / 10), one = code % 10;
    if (code === 0) next = {};
    else if (FLAGS[code]) next[FLAGS[code]] = true;
    else if (ENDS[code]) for (const name of ENDS[code]) delete next[name];
    else if (code === 38 || code === 48) at = extended(next, code === 38 ? "fg" : "bg", codes, at);
    else if ((ten === 3 || ten === 4) && one < 8) next[ten === 3 ? "fg" : "bg"] = one;
    else if ((ten === 9 || ten === 10) && one < 8) next[ten === 9 ? "fg" : "bg"] = one + 8;
  }
  return next;
}

function extended(style, name, codes, at) {
  if (codes[at + 1] === 5) { style[name] = palette(codes[at + 2] ?? 0); return at + 2; }
  if (codes[at + 1] === 2) { style[name] = hex(codes.slice(at + 2, at + 5)); return at + 4; }
  return at;
}

function palette(number) {
  if (number < 16) return number;
  if (number > 231) { const grey = 8 + (Math.min(number, 255) - 232) * 10; return hex([grey, grey, grey]); }
  const step = (value) => (value ? value * 40 + 55 : 0), cube = number - 16;
  return hex([step(Math.floor(cube / 36)), step(Math.floor(cube / 6) % 6), step(cube % 6)]);
}

const hex = (parts) => `#${[0, 1, 2].map((at) => Math.min(255, parts[at] ?? 0).toString(16).padStart(2, "0")).join("")}`;
