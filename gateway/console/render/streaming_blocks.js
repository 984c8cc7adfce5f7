// Parses a growing Markdown text incrementally and reports every final block once. Pure: no DOM. An update reads only from the
// start of the last blocks on, so 20,000 updates cost no more than their last paragraphs. Inside a last list, table, quote or
// fenced block, items, rows, blocks and lines become final one by one.

import { parseBlocks, parseFenced, splitLines, tableRows } from "./blocks.js";

export class StreamingBlocks {
  #text = "";
  #finalChars = 0; // characters that will not be read again
  #inside = null; // the unfinished block in which they end, if any

  /** {restart, completed, open}: the blocks that became final, and those that may still change. `restart`: the text is a
   *  different one, so discard everything. A first block with `before` continues the open block, of which `before` parts
   *  (for code: characters) were reported already. */
  update(text, streaming = false) {
    const restart = !this.follows(text, streaming);
    if (restart) { this.#finalChars = 0; this.#inside = null; }
    this.#text = text;
    const tail = splitLines(this.#finalChars ? text.slice(this.#finalChars) : text);
    const blocks = resumeBlocks(tail, this.#inside, streaming);
    const last = blocks.length - 1;
    // A block is final when the next one has begun on a complete line.
    const final = !streaming || last < 1 ? 0 : blocks[last].from < tail.length - 1 ? last : last - 1;
    if (final > 0) this.#inside = null;
    const within = streaming && final === last ? finalPart(blocks[last], tail.length - 1) : null;
    if (within) this.#inside = within.inside;
    const upTo = within?.line ?? (final > 0 ? blocks[final].from : 0);
    if (upTo > 0) this.#finalChars += lineOffset(text, this.#finalChars, upTo);
    return { restart, completed: blocks.slice(0, Math.max(final, 0)), open: blocks.slice(Math.max(final, 0)) };
  }

  /** Whether `text` continues the text read so far. While streaming, only samples are compared: a full comparison for each
   *  delta would cost the whole text. */
  follows(text, streaming) {
    const before = this.#text;
    if (!streaming) return text.startsWith(before);
    const from = Math.max(before.length - SAMPLE_CHARS, 0);
    return text.startsWith(before.slice(from), from) && text.startsWith(before.slice(0, SAMPLE_CHARS));
  }
}

const SAMPLE_CHARS = 64;

/** The blocks of `tail`, which starts inside the block `inside`. */
function resumeBlocks(tail, inside, streaming) {
  const context = { depth: 0, streaming };
  if (!inside) return parseBlocks(tail, context);
  if (inside.kind === "quote") {
    const [quote, ...others] = parseBlocks(tail, context);
    return [{ ...quote, before: inside.before }, ...others];
  }
  if (inside.kind === "list") {
    // The tail starts with an item that continues the open list.
    const [list, ...others] = parseBlocks(tail, context);
    return [{ ...list, start: inside.start, loose: inside.loose || list.loose, before: inside.before, carried: inside.loose }, ...others];
  }
  const part = inside.kind === "code" ? parseFenced(tail, -1, inside.fence, context) : tableRows(tail, 0);
  return [{ ...inside, ...part, from: 0 }, ...parseBlocks(tail, context, part.to)];
}

/** The final part of the last block: {line where the rest starts, inside: how to continue}, or null. `whole`: the number of
 *  complete lines. */
function finalPart(block, whole) {
  if (block.kind === "list") return finalItems(block, whole);
  if (block.kind === "table") return finalRows(block, whole);
  if (block.kind === "quote") return finalQuoteBlocks(block, whole);
  return block.fence && !block.closed ? finalLines(block, whole) : null;
}

/** All items before the last one that started on a complete line: the following lines may belong to that one. */
function finalItems({ start, items, before = 0, carried = false }, whole) {
  const count = items.findLastIndex((item) => item.from < whole);
  if (count < 1) return null;
  const loose = carried || items.slice(0, count).some((item) => item.gap);
  return { line: items[count].from, inside: { kind: "list", start, loose, before: before + count } };
}

function finalQuoteBlocks({ blocks, before = 0, from }, whole) {
  const count = blocks.findLastIndex((block) => from + block.from < whole);
  if (count < 1) return null;
  return { line: from + blocks[count].from, inside: { kind: "quote", before: before + count } };
}

function finalRows({ align, head, rows, before = 0, to }, whole) {
  const first = to - rows.length, count = Math.min(whole, to) - first;
  if (count < 1) return null;
  return { line: first + count, inside: { kind: "table", align, head, before: before + count } };
}

/** The last complete line stays open: a closing fence after it removes its line end. */
function finalLines({ language, fence, text, before = 0, from, to }, whole) {
  const first = before ? from : from + 1, line = Math.min(whole, to) - 1;
  if (line <= first) return null;
  const reported = before + charsOfLines(text, line - first);
  return { line, inside: { kind: "code", language, fence, before: reported } };
}

/** Characters of the first `count` lines. */
function charsOfLines(text, count) {
  let at = 0;
  while (count-- > 0) at = text.indexOf("\n", at) + 1;
  return at;
}

/** The number of characters in the `count` lines after `from`, with the line ends of `splitLines`. */
function lineOffset(text, from, count) {
  let at = from;
  while (count-- > 0) {
    while (text[at] !== "\n" && text[at] !== "\r") at += 1;
    at += text[at] === "\r" && text[at + 1] === "\n" ? 2 : 1;
  }
  return at - from;
}
