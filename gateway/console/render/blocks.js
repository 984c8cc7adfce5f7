// Parses Markdown into blocks: {kind, …, from, to}, positions in lines. Pure: no DOM. One pass over the lines for each level of
// nesting; the depth is bounded.
//
//   heading {level, text}   paragraph {text}   code {language, text, closed}   rule
//   quote {blocks, raw}     list {start, loose, items: [{checked, blocks}]}    table {align, head, rows}
//
// Raw HTML is a paragraph. Reference links and footnotes are not supported: agents rarely write them, and a late definition
// would change text that the user has already read.

const MAX_DEPTH = 12;
const FENCE = /^ {0,3}(`{3,}|~{3,})[ \t]*(.*)$/;
const HEADING = /^ {0,3}(#{1,6})(?:[ \t]+(.*))?$/;
const BULLET = /^( {0,3})([-*+])(?:([ \t]+)|$)/;
const NUMBER = /^( {0,3})(\d{1,9})([.)])(?:([ \t]+)|$)/;
const AMBIGUOUS_LINE = /^[ \t]*(?:[-=*+>#`~|]+|\d{1,9}[.)]?)[ \t]*$/;

/** The blocks of `text`. `streaming`: the last line may continue, so an ambiguous last line is left out. */
export function parseMarkdown(text, streaming = false) {
  return parseBlocks(splitLines(text), { depth: 0, streaming });
}

export function splitLines(text) {
  return text.replaceAll("\r\n", "\n").replaceAll("\r", "\n").split("\n");
}

/** The blocks from line `at` on. */
export function parseBlocks(all, { depth, streaming }, at = 0) {
  const blocks = [];
  while (at < all.length) {
    if (isBlank(all[at])) { at += 1; continue; }
    const isLast = streaming && at === all.length - 1;
    if (isLast && AMBIGUOUS_LINE.test(all[at])) break;
    const block = parseBlock(all, at, { depth, streaming });
    block.from = at;
    if (block.kind === "quote") block.raw = all.slice(at, block.to).join("\n");
    blocks.push(block);
    at = block.to;
  }
  return blocks;
}

function parseBlock(all, at, context) {
  const line = all[at];
  if (context.depth < MAX_DEPTH) {
    if (/^ {0,3}>/.test(line)) return parseQuote(all, at, context);
    if (!isRule(line) && listMarker(line)) return parseList(all, at, context);
  }
  const fence = openingFence(line);
  if (fence) return parseFenced(all, at, fence, context);
  if (/^(?: {4}|\t)/.test(line)) return parseIndented(all, at);
  const heading = HEADING.exec(line);
  if (heading) return { kind: "heading", level: heading[1].length, text: (heading[2] ?? "").replace(/(?:^|[ \t])#+[ \t]*$/, "").trim(), to: at + 1 };
  if (isRule(line)) return { kind: "rule", to: at + 1 };
  return parseTable(all, at, context) ?? parseParagraph(all, at, context);
}

const isBlank = (line) => line.trim() === "";

/** Three or more of `-`, `*` or `_`, with any spaces. Counted in a loop, because a regular expression could backtrack. */
function isRule(line) {
  const signs = line.trim(), sign = signs[0];
  if (sign !== "-" && sign !== "*" && sign !== "_") return false;
  let count = 0;
  for (const character of signs) {
    if (character === sign) count += 1;
    else if (character !== " " && character !== "\t") return false;
  }
  return count > 2 && !/^(?: {4}|\t)/.test(line);
}

function openingFence(line) {
  const found = FENCE.exec(line);
  return found && !(found[1][0] === "`" && found[2].includes("`"))
    ? { sign: found[1][0], length: found[1].length, indent: line.search(/\S/), info: found[2].trim() } : null;
}

/** A fenced block whose content starts on the line after `at`. */
export function parseFenced(all, at, fence, { streaming }) {
  let to = at + 1, closed = false;
  for (; to < all.length && !closed; to += 1) closed = closesFence(all[to], fence);
  let body = all.slice(at + 1, closed ? to - 1 : to);
  if (streaming && !closed && body.length && isPartialFence(body.at(-1), fence)) body = body.slice(0, -1);
  if (fence.indent) body = body.map((line) => line.slice(Math.min(fence.indent, line.search(/\S|$/))));
  return { kind: "code", language: fence.info.split(/[\s{,]/, 1)[0], text: body.join("\n"), closed, to, fence };
}

function closesFence(line, fence) {
  const inner = line.trim();
  return inner.length >= fence.length && line.search(/\S/) < 4 && consistsOf(inner, fence.sign);
}

function isPartialFence(line, fence) {
  const inner = line.trim();
  return inner !== "" && inner.length < fence.length && consistsOf(inner, fence.sign);
}

function consistsOf(text, sign) {
  for (const character of text) if (character !== sign) return false;
  return true;
}

function parseIndented(all, at) {
  let to = at;
  while (to < all.length && (isBlank(all[to]) || /^(?: {4}|\t)/.test(all[to]))) to += 1;
  while (isBlank(all[to - 1])) to -= 1;
  return { kind: "code", language: "", text: all.slice(at, to).map((line) => line.replace(/^(?: {4}|\t| {1,3}$)/, "")).join("\n"), closed: true, to };
}

function parseQuote(all, at, context) {
  const inner = [];
  let to = at, lazy = false;
  for (; to < all.length; to += 1) {
    const found = /^ {0,3}> ?/.exec(all[to]);
    if (!found && !(lazy && continuesParagraph(all[to]))) break;
    const line = found ? all[to].slice(found[0].length) : all[to];
    inner.push(line);
    lazy = !isBlank(line) && (!found || continuesParagraph(line) || /^ {0,3}>/.test(line)); // the next line of a paragraph needs no mark
  }
  return { kind: "quote", blocks: parseBlocks(inner, { depth: context.depth + 1, streaming: context.streaming && to === all.length }), to };
}

/** Whether the line, placed after a paragraph, belongs to it. */
function continuesParagraph(line) {
  return !isBlank(line) && !openingFence(line) && !HEADING.test(line) && !isRule(line) && !/^ {0,3}>/.test(line) && !interruptsParagraph(line);
}

function interruptsParagraph(line) {
  const found = listMarker(line);
  return Boolean(found && !found.empty && (found.start === undefined || found.start === 1));
}

/** {sign, start, width of the marker and the space after it}, or null if the line starts no list item. */
function listMarker(line) {
  const bullet = BULLET.exec(line), found = bullet ?? NUMBER.exec(line);
  if (!found) return null;
  const [sign, space, before] = bullet ? [found[2], found[3], found[1].length + 1] : [found[3], found[4], found[1].length + found[2].length + 1];
  const empty = isBlank(line.slice(found[0].length));
  const width = !space || empty || space.length > 4 || space[0] === "\t" ? before + 1 : before + space.length;
  return { sign, start: bullet ? undefined : Number(found[2]), width, indent: found[1].length, empty,
    cut: empty ? line.length : space?.length > 4 ? before + 1 : found[0].length };
}

function parseList(all, at, context) {
  const first = listMarker(all[at]), items = [];
  let to = at;
  while (to < all.length) {
    const next = isRule(all[to]) ? null : listMarker(all[to]);
    if (!next || next.sign !== first.sign || (streamingTail(all, to, context) && AMBIGUOUS_LINE.test(all[to]) && items.length)) break;
    const found = itemLines(all, to, next), item = { ...buildItem(found, context, all), from: to, gap: found.gap && found.to < all.length };
    items.push(item);
    to = found.to;
    const after = skipBlank(all, to);
    if (after > to && after < all.length && !isRule(all[after]) && listMarker(all[after])?.sign === first.sign) { item.gap = true; to = after; }
  }
  return { kind: "list", start: first.start, loose: items.some((item) => item.gap), items, to };
}

const streamingTail = (all, at, context) => context.streaming && at === all.length - 1;

function skipBlank(all, at) {
  while (at < all.length && isBlank(all[at])) at += 1;
  return at;
}

/** The lines of one list item, without their indent. */
function itemLines(all, at, { width, cut }) {
  const inner = [all[at].slice(cut)];
  let to = at + 1, end = to, gap = false, lazy = continuesParagraph(inner[0]);
  for (; to < all.length; to += 1) {
    const line = all[to], indent = indentOf(line);
    if (isBlank(line)) { if (to === at + 1 && isBlank(inner[0])) break; inner.push(""); lazy = false; continue; }
    if (indent < width && !(lazy && continuesParagraph(line) && !listMarker(line))) break;
    gap ||= to > end && end > at;
    inner.push(line.slice(Math.min(width, line.search(/\S/))).replace(/^\t/, ""));
    lazy = continuesParagraph(inner.at(-1)) || Boolean(listMarker(inner.at(-1)));
    end = to + 1;
  }
  inner.length = end - at;
  return { inner, to: end, gap };
}

const indentOf = (line) => { const found = /^[ \t]*/.exec(line)[0]; return found.includes("\t") ? found.length * 4 : found.length; };

function buildItem({ inner, to }, context, all) {
  const task = /^\[([ xX])\][ \t]+/.exec(inner[0]);
  if (task) inner[0] = inner[0].slice(task[0].length);
  const raw = inner.join("\n");
  return { checked: task ? task[1] !== " " : undefined, raw,
    blocks: parseBlocks(inner, { depth: context.depth + 1, streaming: context.streaming && to === all.length }) };
}

function parseTable(all, at, { streaming }) {
  if (!all[at].includes("|")) return null;
  const head = splitCells(all[at]), second = all[at + 1];
  const partly = streaming && all[at].trimStart()[0] === "|" && (second === undefined || (at + 2 === all.length && /^[ \t|:-]*$/.test(second)));
  const align = second === undefined || partly ? [] : alignment(second);
  if (!partly && align?.length !== head.length) return null;
  return { kind: "table", align, head, ...tableRows(all, Math.min(at + 2, all.length)) };
}

/** {rows, to} of the table rows from line `at` on. */
export function tableRows(all, at) {
  let to = at;
  while (to < all.length && !isBlank(all[to]) && continuesParagraph(all[to]) && !/^(?: {4}|\t)/.test(all[to])) to += 1;
  return { rows: all.slice(at, to), to };
}

function alignment(line) {
  const marks = splitCells(line);
  if (!line.includes("-") || !marks.every((mark) => /^:?-+:?$/.test(mark))) return null;
  return marks.map((mark) => (mark.startsWith(":") && mark.endsWith(":")
    && mark.length > 1 ? "center" : mark.endsWith(":") ? "right" : mark.startsWith(":") ? "left" : ""));
}

/** Splits a table row at its bars, except at escaped ones. */
export function splitCells(line) {
  const inner = line.trim().replace(/^\|/, ""), cells = [];
  let cell = "";
  for (let at = 0; at < inner.length; at += 1) {
    if (inner[at] === "\\" && inner[at + 1] === "|") { cell += "|"; at += 1; }
    else if (inner[at] === "|") { cells.push(cell.trim()); cell = ""; }
    else cell += inner[at];
  }
  if (cell.trim() || !inner.endsWith("|")) cells.push(cell.trim());
  return cells;
}

function parseParagraph(all, at, { streaming }) {
  let to = at + 1;
  for (; to < all.length; to += 1) {
    const line = all[to];
    if (streaming && to === all.length - 1 && AMBIGUOUS_LINE.test(line)) break;
    if (/^ {0,3}(?:=+|-+)[ \t]*$/.test(line)) return { kind: "heading", level: line.trim()[0] === "=" ? 1 : 2, text: trimLines(all.slice(at, to)), to: to + 1 };
    if (!continuesParagraph(line)) break;
  }
  return { kind: "paragraph", text: trimLines(all.slice(at, to)), to };
}

/** Removes the indents of a paragraph, which have no meaning, but keeps two spaces at a line's end, which mean a break. */
function trimLines(all) {
  return all.map((line, index) => (index === all.length - 1 ? line.trim() : line.trimStart())).join("\n");
}
