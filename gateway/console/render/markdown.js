// Markdown that grows, as elements: settled blocks are never looked at again. A long text is read a step at a time, for as
// long as there is time: what came at once then appears as if it had come slowly, and the page stays awake.

import { h } from "../lib/dom.js";
import { reconcile } from "./block_views.js";
import { Folded, MOST } from "./collapsed.js";
import { Growing } from "./streaming_blocks.js";

export { inlineNodes } from "./inline_view.js";

const STEP = 2000; // characters that are read before the clock is looked at
const GROUP = 50; // blocks that stand in one group: those out of sight are not laid out (see render.css)

export class Markdown {
  #growing = new Growing();
  #open = [];
  #text = "";
  #shown = 0; // characters
  #blocks = 0;
  #full = GROUP;

  constructor() {
    this.node = h("div", { class: "md" });
  }

  /** `hasTime`: whether there is any left; without it all is shown at once. True: there is more to show, so call again. */
  update(text, streaming = false, hasTime = () => true) {
    if (text === this.#text && streaming === this.streaming && this.#shown === text.length) return false;
    if (!this.#growing.follows(text.slice(0, this.#shown), streaming)) this.#anew();
    // Whoever has seen it come wants to see it go on; a text that was long at first sight is not all shown.
    if (!this.#shown) this.most = streaming ? Infinity : MOST;
    this.streaming = streaming;
    this.#text = text;
    do {
      if (this.#blocks < this.most) this.#step(ahead(text, this.#shown));
      else this.#fold();
    } while (this.#shown < text.length && hasTime());
    return this.#shown < text.length;
  }

  #anew() {
    this.node.replaceChildren();
    this.group = this.rest = this.tail = null;
    this.#growing = new Growing();
    this.#open = [];
    this.#shown = this.#blocks = 0;
    this.#full = GROUP;
  }

  #step(end, live = this.streaming || end < this.#text.length) {
    const { settled, open } = this.#growing.update(this.#text.slice(0, end), live);
    const views = reconcile(this.#place(), this.#open, [...settled, ...open], live);
    this.#open = views.slice(settled.length);
    this.#blocks += settled.length;
    this.#shown = end;
    this.#mark(live ? views.at(-1)?.node : null);
  }

  /** Where new blocks go. The first stand in the text itself: most texts need no groups. */
  #place() {
    if (this.#blocks >= this.#full) {
      this.group = this.node.appendChild(h("div", { class: "md-group" }));
      this.#full = this.#blocks + GROUP;
    }
    return this.group ?? this.node;
  }

  /** Where more will come. A class of its own: a rule for any last child would have all within looked at again. */
  #mark(node) {
    if (node === this.tail) return;
    this.tail?.classList.remove("md-tail");
    node?.classList.add("md-tail");
    this.tail = node;
  }

  /** All that was not read so far. */
  #fold() {
    if (!this.rest) {
      this.#step(this.#shown, false);
      this.rest = { from: this.#shown, folded: new Folded() };
      this.node.append(this.rest.folded.node);
    }
    this.rest.folded.show([this.#text.slice(this.rest.from)]);
    this.#shown = this.#text.length;
  }
}

/** Where the next step ends: with a line if there is one, and never within a character. */
function ahead(text, from) {
  if (text.length - from <= STEP) return text.length;
  const end = text.lastIndexOf("\n", from + STEP - 1) + 1;
  if (end > from) return end;
  const code = text.charCodeAt(from + STEP - 1);
  return from + STEP - (code >= 0xd800 && code < 0xdc00 ? 1 : 0);
}

/** The whole text, once. */
export function markdown(text) {
  const whole = new Markdown();
  whole.update(text);
  return whole.node;
}
