// Markdown → blocks: {kind, …, from, to}, in lines. Pure, one pass over the lines for each level of nesting, and levels are bounded.
//
//   heading {level, text}   paragraph {text}   code {language, text, closed}   rule
//   quote {blocks, raw}     list {start, loose, items: [{checked, blocks}]}    table {align, head, rows}
//
// Raw HTML is a paragraph like any other. Reference links and footnotes are left out: agents hardly write them, and a
// definition that comes late would change what has long been read.

const DEEPEST = 12;
const FENCE = /^ {0,3}(`{3,}|~{3,})[ \t]*(.*)$/;
const HEADING = /^ {0,3}(#{1,6})(?:[ \t]+(.*))?$/;
const BULLET = /^( {0,3})([-*+])(?:([ \t]+)|$)/;
const NUMBER = /^( {0,3})(\d{1,9})([.)])(?:([ \t]+)|$)/;
const UNSURE = /^[ \t]*(?:[-=*+>#`~|]+|\d{1,9}[.)]?)[ \t]*$/;

/** All of `text`. `streaming`: its last line may go on, so what that line is shows later. */
export function blocks(text, streaming = false) {
  return read(lines(text), { deep: 0, streaming });
}

export function lines(text) {
  return text.replaceAll("\r\n", "\n").replaceAll("\r", "\n").split("\n");
}

/** From line `at` on. */
export function read(all, { deep, streaming }, at = 0) {
  const found = [];
  while (at < all.length) {
    if (blank(all[at])) { at += 1; continue; }
    const last = streaming && at === all.length - 1;
    if (last && UNSURE.test(all[at])) break;
    const block = start(all, at, { deep, streaming });
    block.from = at;
    if (block.kind === "quote") block.raw = all.slice(at, block.to).join("\n");
    found.push(block);
    at = block.to;
  }
  return found;
}

function start(all, at, how) {
  const line = all[at];
  if (how.deep < DEEPEST) {
    if (/^ {0,3}>/.test(line)) return quote(all, at, how);
    if (!isRule(line) && marker(line)) return list(all, at, how);
  }
  const fence = opening(line);
  if (fence) return code(all, at, fence, how);
  if (/^(?: {4}|\t)/.test(line)) return indented(all, at);
  const heading = HEADING.exec(line);
  if (heading) return { kind: "heading", level: heading[1].length, text: (heading[2] ?? "").replace(/(?:^|[ \t])#+[ \t]*$/, "").trim(), to: at + 1 };
  if (isRule(line)) return { kind: "rule", to: at + 1 };
  return table(all, at, how) ?? paragraph(all, at, how);
}

const blank = (line) => line.trim() === "";

/** Three or more of `-`, `*` or `_`, with spaces at will: counted by hand, for a pattern would try every way. */
function isRule(line) {
  const signs = line.trim(), sign = signs[0];
  if (sign !== "-" && sign !== "*" && sign !== "_") return false;
  let count = 0;
  for (const other of signs) {
    if (other === sign) count += 1;
    else if (other !== " " && other !== "\t") return false;
  }
  return count > 2 && !/^(?: {4}|\t)/.test(line);
}

function opening(line) {
  const found = FENCE.exec(line);
  return found && !(found[1][0] === "`" && found[2].includes("`")) ? { sign: found[1][0], length: found[1].length, indent: line.search(/\S/), info: found[2].trim() } : null;
}

/** From the line after `at`: the fence's own. */
export function code(all, at, fence, { streaming }) {
  let to = at + 1, closed = false;
  for (; to < all.length && !closed; to += 1) closed = closes(all[to], fence);
  let body = all.slice(at + 1, closed ? to - 1 : to);
  if (streaming && !closed && body.length && isPart(body.at(-1), fence)) body = body.slice(0, -1);
  if (fence.indent) body = body.map((line) => line.slice(Math.min(fence.indent, line.search(/\S|$/))));
  return { kind: "code", language: fence.info.split(/[\s{,]/, 1)[0], text: body.join("\n"), closed, to, fence };
}

function closes(line, fence) {
  const inner = line.trim();
  return inner.length >= fence.length && line.search(/\S/) < 4 && isOnly(inner, fence.sign);
}

function isPart(line, fence) {
  const inner = line.trim();
  return inner !== "" && inner.length < fence.length && isOnly(inner, fence.sign);
}

function isOnly(text, sign) {
  for (const other of text) if (other !== sign) return false;
  return true;
}

function indented(all, at) {
  let to = at;
  while (to < all.length && (blank(all[to]) || /^(?: {4}|\t)/.test(all[to]))) to += 1;
  while (blank(all[to - 1])) to -= 1;
  return { kind: "code", language: "", text: all.slice(at, to).map((line) => line.replace(/^(?: {4}|\t| {1,3}$)/, "")).join("\n"), closed: true, to };
}

function quote(all, at, how) {
  const inner = [];
  let to = at, lazy = false;
  for (; to < all.length; to += 1) {
    const found = /^ {0,3}> ?/.exec(all[to]);
    if (!found && !(lazy && goesOn(all[to]))) break;
    const line = found ? all[to].slice(found[0].length) : all[to];
    inner.push(line);
    lazy = !blank(line) && (!found || goesOn(line) || /^ {0,3}>/.test(line)); // a paragraph's next line needs no mark
  }
  return { kind: "quote", blocks: read(inner, { deep: how.deep + 1, streaming: how.streaming && to === all.length }), to };
}

/** A line that, after a paragraph's, belongs to it. */
function goesOn(line) {
  return !blank(line) && !opening(line) && !HEADING.test(line) && !isRule(line) && !/^ {0,3}>/.test(line) && !interrupts(line);
}

function interrupts(line) {
  const found = marker(line);
  return Boolean(found && !found.empty && (found.start === undefined || found.start === 1));
}

/** {sign, start, width: of the marker and the space after it}, if the line begins an item. */
function marker(line) {
  const bullet = BULLET.exec(line), found = bullet ?? NUMBER.exec(line);
  if (!found) return null;
  const [sign, space, before] = bullet ? [found[2], found[3], found[1].length + 1] : [found[3], found[4], found[1].length + found[2].length + 1];
  const empty = blank(line.slice(found[0].length));
  const width = !space || empty || space.length > 4 || space[0] === "\t" ? before + 1 : before + space.length;
  return { sign, start: bullet ? undefined : Number(found[2]), width, indent: found[1].length, empty, cut: empty ? line.length : space?.length > 4 ? before + 1 : found[0].length };
}

function list(all, at, how) {
  const first = marker(all[at]), items = [];
  let to = at;
  while (to < all.length) {
    const next = isRule(all[to]) ? null : marker(all[to]);
    if (!next || next.sign !== first.sign || (streamingTail(all, to, how) && UNSURE.test(all[to]) && items.length)) break;
    const found = itemLines(all, to, next), item = { ...finish(found, how, all), from: to, gap: found.gap && found.to < all.length };
    items.push(item);
    to = found.to;
    const after = skipBlank(all, to);
    if (after > to && after < all.length && !isRule(all[after]) && marker(all[after])?.sign === first.sign) { item.gap = true; to = after; }
  }
  return { kind: "list", start: first.start, loose: items.some((item) => item.gap), items, to };
}

const streamingTail = (all, at, how) => how.streaming && at === all.length - 1;

function skipBlank(all, at) {
  while (at < all.length && blank(all[at])) at += 1;
  return at;
}

/** The item's own lines, without its indent. */
function itemLines(all, at, { width, cut }) {
  const inner = [all[at].slice(cut)];
  let to = at + 1, end = to, gap = false, lazy = goesOn(inner[0]);
  for (; to < all.length; to += 1) {
    const line = all[to], indent = indentOf(line);
    if (blank(line)) { if (to === at + 1 && blank(inner[0])) break; inner.push(""); lazy = false; continue; }
    if (indent < width && !(lazy && goesOn(line) && !marker(line))) break;
    gap ||= to > end && end > at;
    inner.push(line.slice(Math.min(width, line.search(/\S/))).replace(/^\t/, ""));
    lazy = goesOn(inner.at(-1)) || Boolean(marker(inner.at(-1)));
    end = to + 1;
  }
  inner.length = end - at;
  return { inner, to: end, gap };
}

const indentOf = (line) => { const found = /^[ \t]*/.exec(line)[0]; return found.includes("\t") ? found.length * 4 : found.length; };

function finish({ inner, to }, how, all) {
  const task = /^\[([ xX])\][ \t]+/.exec(inner[0]);
  if (task) inner[0] = inner[0].slice(task[0].length);
  const raw = inner.join("\n");
  return { checked: task ? task[1] !== " " : undefined, raw, blocks: read(inner, { deep: how.deep + 1, streaming: how.streaming && to === all.length }) };
}

function table(all, at, { streaming }) {
  if (!all[at].includes("|")) return null;
  const head = cells(all[at]), second = all[at + 1];
  const partly = streaming && all[at].trimStart()[0] === "|" && (second === undefined || (at + 2 === all.length && /^[ \t|:-]*$/.test(second)));
  const align = second === undefined || partly ? [] : alignment(second);
  if (!partly && align?.length !== head.length) return null;
  return { kind: "table", align, head, ...tableRows(all, Math.min(at + 2, all.length)) };
}

/** {rows, to}: those that stand from `at` on. */
export function tableRows(all, at) {
  let to = at;
  while (to < all.length && !blank(all[to]) && goesOn(all[to]) && !/^(?: {4}|\t)/.test(all[to])) to += 1;
  return { rows: all.slice(at, to), to };
}

function alignment(line) {
  const marks = cells(line);
  if (!line.includes("-") || !marks.every((mark) => /^:?-+:?$/.test(mark))) return null;
  return marks.map((mark) => (mark.startsWith(":") && mark.endsWith(":") && mark.length > 1 ? "center" : mark.endsWith(":") ? "right" : mark.startsWith(":") ? "left" : ""));
}

/** Split at bars that no backslash stands before. */
export function cells(line) {
  const inner = line.trim().replace(/^\|/, ""), found = [];
  let cell = "";
  for (let at = 0; at < inner.length; at += 1) {
    if (inner[at] === "\\" && inner[at + 1] === "|") { cell += "|"; at += 1; }
    else if (inner[at] === "|") { found.push(cell.trim()); cell = ""; }
    else cell += inner[at];
  }
  if (cell.trim() || !inner.endsWith("|")) found.push(cell.trim());
  return found;
}

function paragraph(all, at, { streaming }) {
  let to = at + 1;
  for (; to < all.length; to += 1) {
    const line = all[to];
    if (streaming && to === all.length - 1 && UNSURE.test(line)) break;
    if (/^ {0,3}(?:=+|-+)[ \t]*$/.test(line)) return { kind: "heading", level: line.trim()[0] === "=" ? 1 : 2, text: trimLines(all.slice(at, to)), to: to + 1 };
    if (!goesOn(line)) break;
  }
  return { kind: "paragraph", text: trimLines(all.slice(at, to)), to };
}

/** Indents are nothing in a paragraph; two spaces at a line's end are a break. */
function trimLines(all) {
  return all.map((line, index) => (index === all.length - 1 ? line.trim() : line.trimStart())).join("\n");
}
