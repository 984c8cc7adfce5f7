// The list of the agent's threads: open, create, fork and delete.

import { fill, h, icon, openDialog, toast } from "../lib/dom.js";
import { canFork } from "./capabilities.js";
import { deleteThread } from "./session.js";

const STATUS_LABELS = { running: "running", waiting: "waiting for you", blocked: "waiting for you" };

export const newThreadId = () => `chat-${crypto.randomUUID().slice(0, 8)}`;
export const chatAddress = (agent, thread) => `#/agents/${encodeURIComponent(agent)}/chat/${encodeURIComponent(thread)}`;

export class History {
  constructor(session) {
    this.session = session;
    this.list = h("ul", { class: "thread-list" });
    this.forkButton = h("button", { class: "btn quiet only", type: "button", hidden: true, "aria-label": "Fork",
      title: "Continue in a copy of this thread", on: { click: () => this.#fork() } }, icon("fork"));
    this.node = h("section", { class: "history", "aria-label": "Threads", dataset: { testid: "history" } },
      h("div", { class: "row head" }, h("h2", { class: "grow" }, "Threads"), this.forkButton,
        h("a", { class: "btn quiet", href: chatAddress(session.agent, newThreadId()),
          on: { click: (event) => { event.currentTarget.href = chatAddress(session.agent, newThreadId()); } } }, icon("plus"), "New")), this.list);
    session.capabilities.subscribe(() => this.#showFork(), session.abort);
    session.isStored.subscribe(() => this.#showFork(), session.abort);
    session.threads.subscribe(() => this.#draw(), session.abort);
    session.run.subscribe((run) => { if (run === "idle") this.refresh(); }, session.abort);
  }

  #showFork() {
    this.forkButton.hidden = !(canFork(this.session.capabilities.value) && this.session.isStored.value);
  }

  async refresh() {
    if (this.node.hidden) return;
    try {
      await this.session.loadThreads();
      this.#draw();
    } catch (problem) {
      if (!this.session.abort.aborted) this.#showError(problem);
    }
  }

  /** Shows the error only if no list is there: an old list is better than none. */
  #showError(problem) {
    if (this.session.threads.value.length) return;
    this.drawn = undefined;
    fill(this.list, h("li", { class: "muted small" }, problem.message));
  }

  /** Redraws only after a change, and keeps the keyboard focus in the list. */
  #draw() {
    if (this.node.hidden) return;
    const threads = this.session.threads.value,
      key = JSON.stringify(threads.map(({ threadId, title, updated, status }) => [threadId, title, status, formatAge(updated)]));
    if (key === this.drawn) return;
    this.drawn = key;
    const { activeElement } = document, focusKey = this.list.contains(activeElement) ? activeElement.dataset.focusKey : undefined;
    fill(this.list, threads.length ? threads.map((thread) => this.#row(thread))
      : h("li", { class: "muted small" }, "No threads yet. Send a message to start one."));
    if (focusKey) [...this.list.querySelectorAll("[data-focus-key]")].find((node) => node.dataset.focusKey === focusKey)?.focus();
  }

  #row({ threadId, title, updated, status }) {
    const isCurrent = threadId === this.session.thread, name = title || threadId, label = STATUS_LABELS[status];
    return h("li", { class: "thread-row" },
      h("a", { href: chatAddress(this.session.agent, threadId), "aria-current": isCurrent ? "page" : undefined, title: threadId,
        dataset: { focusKey: `open ${threadId}` } }, h("span", { class: "clip" }, name),
        h("span", { class: "small muted" }, formatAge(updated), label && ` · ${label}`)),
      h("button", { class: "btn quiet only", type: "button", dataset: { focusKey: `delete ${threadId}` }, "aria-label": "Delete this thread",
        title: `Delete “${name}”`, on: { click: () => this.#delete(threadId, name) } }, icon("trash")));
  }

  async #delete(threadId, name) {
    const isConfirmed = await openDialog("Delete this thread?",
      (close) => h("div", { class: "stack" }, h("p", {}, `This deletes “${name}” and all of its messages. You cannot undo this.`),
      h("div", { class: "row" }, h("button", { class: "btn danger", on: { click: () => close(true) } }, "Delete"),
        h("button", { class: "btn", on: { click: () => close(false) } }, "Cancel"))));
    if (!isConfirmed) return;
    try {
      const kept = await deleteThread(this.session.agent, threadId);
      if (kept) toast(`Its changes were not merged: they are on the branch ${kept.branch} in ${kept.repository}.`);
      if (threadId === this.session.thread) location.hash = chatAddress(this.session.agent, newThreadId());
      else this.session.threads.value = this.session.threads.value.filter((thread) => thread.threadId !== threadId);
    } catch (problem) {
      toast(problem.message, "bad");
    }
  }

  async #fork() {
    try {
      location.hash = chatAddress(this.session.agent, await this.session.fork());
    } catch (problem) {
      toast(problem.message, "bad");
    }
  }
}

const AGE_UNITS = [[60, "s"], [60, "min"], [24, "h"], [Infinity, "d"]];

export function formatAge(seconds, now = Date.now()) {
  let passed = Math.max(0, now / 1000 - seconds);
  for (const [size, unit] of AGE_UNITS) {
    if (passed < size) return unit === "s" ? "just now" : `${Math.floor(passed)} ${unit} ago`;
    passed /= size;
  }
}
