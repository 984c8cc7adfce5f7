// The agent's threads: open one, begin another, go on in a copy, delete.

import { fill, h, icon, openDialog, toast } from "../lib/dom.js";
import { forks } from "./capabilities.js";
import { deleteThread } from "./session.js";

/** What a thread that does not rest is doing; only the second is the reader's business. */
const DOING = { running: "running", waiting: "waits for you" };

export const newThread = () => `chat-${crypto.randomUUID().slice(0, 8)}`;
export const addressOf = (agent, thread) => `#/agents/${encodeURIComponent(agent)}/chat/${encodeURIComponent(thread)}`;

export class History {
  constructor(session) {
    this.session = session;
    this.list = h("ul", { class: "thread-list" });
    this.forkButton = h("button", { class: "btn quiet only", type: "button", hidden: true, "aria-label": "Fork", title: "Go on in a copy of this thread", on: { click: () => this.#fork() } }, icon("fork"));
    this.node = h("section", { class: "history", "aria-label": "Threads", dataset: { testid: "history" } },
      h("div", { class: "row head" }, h("h2", { class: "grow" }, "Threads"), this.forkButton,
        h("a", { class: "btn quiet", href: addressOf(session.agent, newThread()), on: { click: (event) => { event.currentTarget.href = addressOf(session.agent, newThread()); } } }, icon("plus"), "New")), this.list);
    session.capabilities.follow(() => this.#canFork(), session.abort);
    session.known.follow(() => this.#canFork(), session.abort);
    session.threads.follow(() => this.#draw(), session.abort);
    session.run.follow((run) => { if (run === "idle") this.refresh(); }, session.abort);
  }

  #canFork() {
    this.forkButton.hidden = !(forks(this.session.capabilities.value) && this.session.known.value);
  }

  async refresh() {
    if (this.node.hidden) return;
    try {
      await this.session.list();
      this.#draw();
    } catch (problem) {
      if (!this.session.abort.aborted) this.#tell(problem);
    }
  }

  /** What was listed before is still better than nothing. */
  #tell(problem) {
    if (this.session.threads.value.length) return;
    this.shown = undefined;
    fill(this.list, h("li", { class: "muted small" }, problem.message));
  }

  /** Only when there is something else to see: whoever stands in the list with the keyboard stays there. */
  #draw() {
    if (this.node.hidden) return;
    const threads = this.session.threads.value, told = JSON.stringify(threads.map(({ threadId, title, updated, status }) => [threadId, title, status, ago(updated)]));
    if (told === this.shown) return;
    this.shown = told;
    const { activeElement: before } = document, at = this.list.contains(before) ? before.dataset.at : undefined;
    fill(this.list, threads.length ? threads.map((thread) => this.#row(thread)) : h("li", { class: "muted small" }, "None yet. Say something."));
    if (at) [...this.list.querySelectorAll("[data-at]")].find((node) => node.dataset.at === at)?.focus();
  }

  #row({ threadId, title, updated, status }) {
    const here = threadId === this.session.thread, name = title || threadId, doing = DOING[status];
    return h("li", { class: "thread-row" },
      h("a", { href: addressOf(this.session.agent, threadId), "aria-current": here ? "page" : undefined, title: threadId, dataset: { at: `open ${threadId}` } }, h("span", { class: "clip" }, name), h("span", { class: "small muted" }, ago(updated), doing && ` · ${doing}`)),
      h("button", { class: "btn quiet only", type: "button", dataset: { at: `delete ${threadId}` }, "aria-label": "Delete this thread", title: `Delete “${name}”`, on: { click: () => this.#delete(threadId, name) } }, icon("trash")));
  }

  async #delete(threadId, name) {
    const sure = await openDialog("Delete this thread?", (close) => h("div", { class: "stack" }, h("p", {}, `“${name}” and everything in it. It cannot be brought back.`),
      h("div", { class: "row" }, h("button", { class: "btn danger", on: { click: () => close(true) } }, "Delete"), h("button", { class: "btn", on: { click: () => close(false) } }, "Keep"))));
    if (!sure) return;
    try {
      await deleteThread(this.session.agent, threadId);
      if (threadId === this.session.thread) location.hash = addressOf(this.session.agent, newThread());
      else this.session.threads.value = this.session.threads.value.filter((thread) => thread.threadId !== threadId);
    } catch (problem) {
      toast(problem.message, "bad");
    }
  }

  async #fork() {
    try {
      location.hash = addressOf(this.session.agent, await this.session.fork());
    } catch (problem) {
      toast(problem.message, "bad");
    }
  }
}

const STEPS = [[60, "s"], [60, "min"], [24, "h"], [Infinity, "d"]];

export function ago(seconds, now = Date.now()) {
  let passed = Math.max(0, now / 1000 - seconds);
  for (const [size, unit] of STEPS) {
    if (passed < size) return unit === "s" ? "just now" : `${Math.floor(passed)} ${unit} ago`;
    passed /= size;
  }
}
