// Items → nodes: once a frame, and only what has changed. A long thread is built from its end, a little at a time, so that
// the newest is there at once and typing is never held up.

import { h, icon } from "../lib/dom.js";
import { VIEWS } from "./items/views.js";

/** Milliseconds of building in one go. */
const SLICE = 10;
/** Built before the first look. */
const AT_FIRST = 40;
const NEAR = 60;

export class List {
  /** `context`: what the views may do ({session, say}). */
  constructor(model, context) {
    Object.assign(this, { model, context, views: new Map(), epoch: -1, appended: 0, older: [] });
    this.inside = h("div", { class: "items" });
    this.node = h("div", { class: "log", role: "log", "aria-label": "Conversation", "aria-relevant": "additions", tabIndex: 0, dataset: { testid: "log" }, on: { scroll: () => this.#scrolled() } }, this.inside);
    this.down = h("button", { class: "btn jump", hidden: true, on: { click: () => this.toEnd() } }, icon("down"), "Newest");
    this.stick = true;
    this.due = false;
    this.cost = 0;
    this.at = 0;
    // Questions and a growing composer take room from below, pictures come late: whoever was at the end stays there.
    const sized = new ResizeObserver(() => { if (this.stick) this.toEnd(); });
    sized.observe(this.node);
    sized.observe(this.inside);
  }

  /** News are shown with the next frame. Where a frame takes long, the next waits for as long again: input goes first. */
  schedule = () => {
    if (this.due) return;
    this.due = true;
    const go = () => { this.due = false; this.flush(); };
    // A hidden page has no frames.
    if (document.hidden) setTimeout(go, 250);
    else if (this.cost > SLICE) setTimeout(() => requestAnimationFrame(go), this.cost * 2);
    else requestAnimationFrame(go);
  };

  flush() {
    const began = performance.now();
    if (this.epoch !== this.model.epoch) this.#anew();
    for (; this.appended < this.model.items.length; this.appended += 1) this.#build(this.model.items[this.appended]);
    for (const item of this.model.changed) this.views.get(item.key)?.update(item);
    this.model.changed.clear();
    while (this.older.length && performance.now() - began < SLICE) this.#build(this.older.pop(), true);
    if (this.older.length) this.schedule();
    if (this.stick) this.toEnd();
    this.cost = performance.now() - began;
  }

  #anew() {
    const { items } = this.model;
    this.epoch = this.model.epoch;
    this.views.clear();
    this.inside.replaceChildren();
    this.older = items.slice(0, -AT_FIRST);
    this.appended = this.older.length;
    this.stick = true;
  }

  /** `before`: it is older than everything that is there. */
  #build(item, before = false) {
    if (this.views.has(item.key)) return;
    const view = VIEWS[item.kind]?.(item, this.context);
    if (!view) return;
    this.views.set(item.key, view);
    view.node.classList.add("item");
    view.node.dataset.kind = item.kind;
    const place = this.#lane(item);
    // A lane is never moved into what it holds.
    if (view.node.contains(place)) this.inside.append(view.node);
    else if (before) place.prepend(view.node);
    else place.append(view.node);
    view.update(item);
  }

  #lane(item) {
    if (item.lane === undefined) return this.inside;
    const key = `subagent:${item.lane}`, helper = this.model.find("subagent", item.lane);
    if (!this.views.has(key) && helper && helper !== item) this.#build(helper, this.older.includes(helper));
    return this.views.get(key)?.lane ?? this.inside;
  }

  /** Only who goes up leaves the end; what grows below does not push anybody away. */
  #scrolled() {
    const { scrollTop, scrollHeight, clientHeight } = this.node;
    if (scrollHeight - scrollTop - clientHeight < NEAR) this.stick = true;
    else if (scrollTop < this.at - 4) this.stick = false;
    this.at = scrollTop;
    this.down.hidden = this.stick;
  }

  toEnd() {
    this.node.scrollTop = this.node.scrollHeight;
    this.at = this.node.scrollTop;
    this.stick = true;
    this.down.hidden = true;
  }
}
