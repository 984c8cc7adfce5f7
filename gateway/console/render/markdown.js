// Renders growing Markdown. Final blocks are never touched again. A long text is rendered in steps while there is time, so that
// the page stays responsive.

import { h } from "../lib/dom.js";
import { reconcile } from "./block_views.js";
import { CollapsedText, MAX_ELEMENTS } from "./collapsed.js";
import { StreamingBlocks } from "./streaming_blocks.js";

export { inlineNodes } from "./inline_view.js";

const STEP_CHARS = 2000; // rendered between two checks of the clock
const GROUP_BLOCKS = 50; // blocks in one group: the browser skips the layout of groups out of sight (see render.css)

export class Markdown {
  #parser = new StreamingBlocks();
  #open = [];
  #text = "";
  #shown = 0; // characters
  #blocks = 0;
  #groupEnd = GROUP_BLOCKS;

  constructor() {
    this.node = h("div", { class: "md" });
  }

  /** `hasTime()`: whether the time budget lasts; by default all text is shown at once. Returns true if there is more to show,
   *  so that the caller calls again. */
  update(text, streaming = false, hasTime = () => true) {
    if (text === this.#text && streaming === this.streaming && this.#shown === text.length) return false;
    if (!this.#parser.follows(text.slice(0, this.#shown), streaming)) this.#reset();
    // A text that the user watches is shown to its end; a text that was already long is cut at MAX_ELEMENTS.
    if (!this.#shown) this.maxBlocks = streaming ? Infinity : MAX_ELEMENTS;
    this.streaming = streaming;
    this.#text = text;
    do {
      if (this.#blocks < this.maxBlocks) this.#step(stepEnd(text, this.#shown));
      else this.#collapseRest();
    } while (this.#shown < text.length && hasTime());
    return this.#shown < text.length;
  }

  #reset() {
    this.node.replaceChildren();
    this.group = this.rest = this.tail = null;
    this.#parser = new StreamingBlocks();
    this.#open = [];
    this.#shown = this.#blocks = 0;
    this.#groupEnd = GROUP_BLOCKS;
  }

  #step(end, live = this.streaming || end < this.#text.length) {
    const { completed, open } = this.#parser.update(this.#text.slice(0, end), live);
    const views = reconcile(this.#blockParent(), this.#open, [...completed, ...open], live);
    this.#open = views.slice(completed.length);
    this.#blocks += completed.length;
    this.#shown = end;
    this.#markTail(live ? views.at(-1)?.node : null);
  }

  /** The parent of new blocks. The first blocks need no group: most texts are short. */
  #blockParent() {
    if (this.#blocks >= this.#groupEnd) {
      this.group = this.node.appendChild(h("div", { class: "md-group" }));
      this.#groupEnd = this.#blocks + GROUP_BLOCKS;
    }
    return this.group ?? this.node;
  }

  /** Marks the block where text is being added. A class, because a `:last-child` rule would restyle the whole subtree. */
  #markTail(node) {
    if (node === this.tail) return;
    this.tail?.classList.remove("md-tail");
    node?.classList.add("md-tail");
    this.tail = node;
  }

  /** Collapses the text that was not rendered so far. */
  #collapseRest() {
    if (!this.rest) {
      this.#step(this.#shown, false);
      this.rest = { from: this.#shown, collapsed: new CollapsedText() };
      this.node.append(this.rest.collapsed.node);
    }
    this.rest.collapsed.show([this.#text.slice(this.rest.from)]);
    this.#shown = this.#text.length;
  }
}

/** The end of the next step: a line end if there is one, and never inside a character. */
function stepEnd(text, from) {
  if (text.length - from <= STEP_CHARS) return text.length;
  const end = text.lastIndexOf("\n", from + STEP_CHARS - 1) + 1;
  if (end > from) return end;
  const code = text.charCodeAt(from + STEP_CHARS - 1);
  return from + STEP_CHARS - (code >= 0xd800 && code < 0xdc00 ? 1 : 0);
}

/** A complete text as a node. */
export function markdown(text) {
  const view = new Markdown();
  view.update(text);
  return view.node;
}
