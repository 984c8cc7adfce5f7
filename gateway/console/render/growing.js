// A text that grows → the blocks it is made of, settled ones told once. Pure. An update reads only from where the last
// blocks begin: 20,000 of them cost no more than their last paragraphs.

import { lines, read } from "./blocks.js";

export class Growing {
  #text = "";
  #settled = 0; // characters that will not be read again

  /** {restart, settled, open}: blocks now final, to be kept; and those that may still change. `restart`: forget all. */
  update(text, streaming = false) {
    const restart = !goesOn(text, this.#text, streaming);
    if (restart) this.#settled = 0;
    this.#text = text;
    const tail = lines(this.#settled ? text.slice(this.#settled) : text);
    const found = read(tail, { deep: 0, streaming });
    const last = found.length - 1;
    // A block is final once the next has begun, on a line that is whole.
    const final = !streaming || last < 1 ? 0 : found[last].from < tail.length - 1 ? last : last - 1;
    if (final > 0) this.#settled += offset(text, this.#settled, found[final].from);
    return { restart, settled: found.slice(0, Math.max(final, 0)), open: found.slice(Math.max(final, 0)) };
  }
}

const SAMPLE = 64;

/** Whether `text` is `before` and more. Looked at whole only at the end: each delta would cost all that came before it. */
function goesOn(text, before, streaming) {
  if (!streaming) return text.startsWith(before);
  const from = Math.max(before.length - SAMPLE, 0);
  return text.startsWith(before.slice(from), from) && text.startsWith(before.slice(0, SAMPLE));
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
