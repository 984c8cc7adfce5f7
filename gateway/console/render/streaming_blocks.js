// A text that grows → the blocks it is made of, settled ones told once. Pure. An update reads only from where the last
// blocks begin: 20,000 of them cost no more than their last paragraphs. A list, a table, a quote or a fenced block may be all
// there is: of the last one, items, rows, blocks and lines settle as blocks do.

import { code, lines, read, tableRows } from "./blocks.js";

export class Growing {
  #text = "";
  #settled = 0; // characters that will not be read again
  #inside = null; // the block that they end in, if they end in one

  /** {restart, settled, open}: blocks now final, to be kept; and those that may still change. `restart`: forget all.
   *  A first block with `before` goes on with the one that was open: so many of its parts (of code: characters) were told. */
  update(text, streaming = false) {
    const restart = !this.follows(text, streaming);
    if (restart) { this.#settled = 0; this.#inside = null; }
    this.#text = text;
    const tail = lines(this.#settled ? text.slice(this.#settled) : text);
    const found = resumed(tail, this.#inside, streaming);
    const last = found.length - 1;
    // A block is final once the next has begun, on a line that is whole.
    const final = !streaming || last < 1 ? 0 : found[last].from < tail.length - 1 ? last : last - 1;
    if (final > 0) this.#inside = null;
    const within = streaming && final === last ? settle(found[last], tail.length - 1) : null;
    if (within) this.#inside = within.inside;
    const upTo = within?.line ?? (final > 0 ? found[final].from : 0);
    if (upTo > 0) this.#settled += offset(text, this.#settled, upTo);
    return { restart, settled: found.slice(0, Math.max(final, 0)), open: found.slice(Math.max(final, 0)) };
  }

  /** Whether `text` is what was read and more. Looked at whole only at the end: each delta would cost all before it. */
  follows(text, streaming) {
    const before = this.#text;
    if (!streaming) return text.startsWith(before);
    const from = Math.max(before.length - SAMPLE, 0);
    return text.startsWith(before.slice(from), from) && text.startsWith(before.slice(0, SAMPLE));
  }
}

const SAMPLE = 64;

/** The blocks of `tail`, which begins within `inside`. */
function resumed(tail, inside, streaming) {
  const how = { deep: 0, streaming };
  if (!inside) return read(tail, how);
  if (inside.kind === "quote") {
    const [quote, ...others] = read(tail, how);
    return [{ ...quote, before: inside.before }, ...others];
  }
  if (inside.kind === "list") {
    // It begins with an item: its list is the rest of the one that is open.
    const [list, ...others] = read(tail, how);
    return [{ ...list, start: inside.start, loose: inside.loose || list.loose, before: inside.before, carried: inside.loose }, ...others];
  }
  const part = inside.kind === "code" ? code(tail, -1, inside.fence, how) : tableRows(tail, 0);
  return [{ ...inside, ...part, from: 0 }, ...read(tail, how, part.to)];
}

/** What of the last block is final: {line: where the rest begins, inside: how to go on}. `whole`: lines that are. */
function settle(block, whole) {
  if (block.kind === "list") return settleItems(block, whole);
  if (block.kind === "table") return settleRows(block, whole);
  if (block.kind === "quote") return settleQuoted(block, whole);
  return block.fence && !block.closed ? settleLines(block, whole) : null;
}

/** All items but the last that began on a whole line: what follows may be its own. */
function settleItems({ start, items, before = 0, carried = false }, whole) {
  const count = items.findLastIndex((item) => item.from < whole);
  if (count < 1) return null;
  const loose = carried || items.slice(0, count).some((item) => item.gap);
  return { line: items[count].from, inside: { kind: "list", start, loose, before: before + count } };
}

function settleQuoted({ blocks, before = 0, from }, whole) {
  const count = blocks.findLastIndex((block) => from + block.from < whole);
  if (count < 1) return null;
  return { line: from + blocks[count].from, inside: { kind: "quote", before: before + count } };
}

function settleRows({ align, head, rows, before = 0, to }, whole) {
  const first = to - rows.length, count = Math.min(whole, to) - first;
  if (count < 1) return null;
  return { line: first + count, inside: { kind: "table", align, head, before: before + count } };
}

/** The last whole line stays: that the fence is closed after it takes its line's end away. */
function settleLines({ language, fence, text, before = 0, from, to }, whole) {
  const first = before ? from : from + 1, line = Math.min(whole, to) - 1;
  if (line <= first) return null;
  const told = before + endOf(text, line - first);
  return { line, inside: { kind: "code", language, fence, before: told } };
}

/** Characters of the first `count` lines. */
function endOf(text, count) {
  let at = 0;
  while (count-- > 0) at = text.indexOf("\n", at) + 1;
  return at;
}

/** Characters until the n-th line after `from`; a line ends as `lines` has it. */
function offset(text, from, count) {
  let at = from;
  while (count-- > 0) {
    while (text[at] !== "\n" && text[at] !== "\r") at += 1;
    at += text[at] === "\r" && text[at + 1] === "\n" ? 2 : 1;
  }
  return at - from;
}
