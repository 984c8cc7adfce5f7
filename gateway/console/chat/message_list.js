// Items → nodes: once a frame, and only what has changed. Whatever there is to build has one budget of time, and goes on
// in the next frame: typing is never held up. A long thread is built from its end: the newest is there at once.

import { h, icon } from "../lib/dom.js";
import { VIEWS } from "./items/views.js";

/** Milliseconds of building in one go. What is built must be styled and laid out too, which takes several times as long. */
const SLICE = 5;
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
    const began = performance.now(), hasTime = () => performance.now() - began < SLICE;
    if (this.epoch !== this.model.epoch) this.#anew();
    const { items, changed } = this.model;
    while (this.appended < items.length && hasTime()) this.#build(items[this.appended++], hasTime);
    for (const item of changed) {
      if (!hasTime()) break;
      this.#update(item, hasTime);
    }
    while (this.older.length && hasTime()) this.#build(this.older.pop(), hasTime, true);
    if (this.stick) this.toEnd();
    this.cost = performance.now() - began;
    if (this.appended < items.length || changed.size || this.older.length) this.schedule();
  }

  /** What is not there yet will be built as it is by then. */
  #update(item, hasTime) {
    const more = this.views.get(item.key)?.update(item, hasTime);
    if (more) this.model.changed.add(item);
    else this.model.changed.delete(item);
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
  #build(item, hasTime, before = false) {
    if (this.views.has(item.key)) return;
    const view = VIEWS[item.kind]?.(item, this.context);
    if (!view) return;
    this.views.set(item.key, view);
    view.node.classList.add("item");
    view.node.dataset.kind = item.kind;
    const place = this.#lane(item, hasTime);
    // A lane is never moved into what it holds.
    if (view.node.contains(place)) this.inside.append(view.node);
    else if (before) place.prepend(view.node);
    else place.append(view.node);
    this.#update(item, hasTime);
  }

  #lane(item, hasTime) {
    if (item.lane === undefined) return this.inside;
    const key = `subagent:${item.lane}`, helper = this.model.find("subagent", item.lane);
    if (!this.views.has(key) && helper && helper !== item) this.#build(helper, hasTime, this.older.includes(helper));
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
