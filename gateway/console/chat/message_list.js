// Turns items into nodes, once per frame and only after changes. All building shares one time budget per frame, so that typing
// is never delayed. A long thread is built from its end: the newest messages appear first.

import { h, icon } from "../lib/dom.js";
import { VIEWS } from "./items/views.js";

/** Time for building in one frame. Style and layout of the new nodes take several times as long. */
const BUDGET_MS = 5;
/** Items that are built first; older ones follow in later frames. */
const FIRST_ITEMS = 40;
const END_TOLERANCE_PX = 60;
const HIDDEN_PAGE_DELAY_MS = 250;

export class MessageList {
  /** `context`: what the views may use ({session, writeMessage}). */
  constructor(model, context) {
    Object.assign(this, { model, context, views: new Map(), epoch: -1, appended: 0, older: [] });
    this.container = h("div", { class: "items" });
    this.node = h("div", { class: "log", role: "log", "aria-label": "Conversation", "aria-relevant": "additions", tabIndex: 0,
      dataset: { testid: "log" }, on: { scroll: () => this.#onScroll() } }, this.container);
    this.jumpButton = h("button", { class: "btn jump", hidden: true, on: { click: () => this.scrollToEnd() } }, icon("down"), "Newest");
    this.isFollowing = true;
    this.isScheduled = false;
    this.lastFlushMs = 0;
    this.lastScrollTop = 0;
    // Requests, a growing composer and late images change the layout: a user at the end of the list stays at the end.
    const observer = new ResizeObserver(() => { if (this.isFollowing) this.scrollToEnd(); });
    observer.observe(this.node);
    observer.observe(this.container);
  }

  /** Shows changes in the next frame. After a slow frame the next one waits twice as long, so that input goes first. */
  schedule = () => {
    if (this.isScheduled) return;
    this.isScheduled = true;
    const run = () => { this.isScheduled = false; this.flush(); };
    // A hidden page gets no frames.
    if (document.hidden) setTimeout(run, HIDDEN_PAGE_DELAY_MS);
    else if (this.lastFlushMs > BUDGET_MS) setTimeout(() => requestAnimationFrame(run), this.lastFlushMs * 2);
    else requestAnimationFrame(run);
  };

  flush() {
    const start = performance.now(), hasTime = () => performance.now() - start < BUDGET_MS;
    if (this.epoch !== this.model.epoch) this.#reset();
    const { items, changed } = this.model;
    while (this.appended < items.length && hasTime()) this.#build(items[this.appended++], hasTime);
    for (const item of changed) {
      if (!hasTime()) break;
      this.#update(item, hasTime);
    }
    while (this.older.length && hasTime()) this.#build(this.older.pop(), hasTime, true);
    if (this.isFollowing) this.scrollToEnd();
    this.lastFlushMs = performance.now() - start;
    if (this.appended < items.length || changed.size || this.older.length) this.schedule();
  }

  /** An item without a view is built later, in its then current state. */
  #update(item, hasTime) {
    const more = this.views.get(item.key)?.update(item, hasTime);
    if (more) this.model.changed.add(item);
    else this.model.changed.delete(item);
  }

  #reset() {
    const { items } = this.model;
    this.epoch = this.model.epoch;
    this.views.clear();
    this.container.replaceChildren();
    this.older = items.slice(0, -FIRST_ITEMS);
    this.appended = this.older.length;
    this.isFollowing = true;
  }

  /** `before`: the item is older than all items that are shown. */
  #build(item, hasTime, before = false) {
    if (this.views.has(item.key)) return;
    const view = VIEWS[item.kind]?.(item, this.context);
    if (!view) return;
    this.views.set(item.key, view);
    view.node.classList.add("item");
    view.node.dataset.kind = item.kind;
    const parent = this.#parentOf(item, hasTime);
    // A malformed event order could make a subagent its own ancestor.
    if (view.node.contains(parent)) this.container.append(view.node);
    else if (before) parent.prepend(view.node);
    else parent.append(view.node);
    this.#update(item, hasTime);
  }

  #parentOf(item, hasTime) {
    if (item.subagent === undefined) return this.container;
    const key = `subagent:${item.subagent}`, subagent = this.model.find("subagent", item.subagent);
    if (!this.views.has(key) && subagent && subagent !== item) this.#build(subagent, hasTime, this.older.includes(subagent));
    return this.views.get(key)?.subagentItems ?? this.container;
  }

  /** Only scrolling up ends following; growing content does not. */
  #onScroll() {
    const { scrollTop, scrollHeight, clientHeight } = this.node;
    if (scrollHeight - scrollTop - clientHeight < END_TOLERANCE_PX) this.isFollowing = true;
    else if (scrollTop < this.lastScrollTop - 4) this.isFollowing = false;
    this.lastScrollTop = scrollTop;
    this.jumpButton.hidden = this.isFollowing;
  }

  scrollToEnd() {
    this.node.scrollTop = this.node.scrollHeight;
    this.lastScrollTop = this.node.scrollTop;
    this.isFollowing = true;
    this.jumpButton.hidden = true;
  }
}
