// The agent's threads: open one, begin another, go on in a copy, delete.

import { at, getJson } from "../lib/api.js";
import { fill, h, icon, openDialog, toast } from "../lib/dom.js";
import { forks } from "./facts.js";
import { deleteThread, listThreads } from "./session.js";

/** Titles are a thread's first words, asked for one by one: so many, the newest. */
const TITLED = 12;
const titles = new Map();

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
    session.run.follow((run) => { if (run === "idle") this.refresh(); }, session.abort);
  }

  #canFork() {
    this.forkButton.hidden = !(forks(this.session.capabilities.value) && this.session.known.value);
  }

  async refresh() {
    if (this.node.hidden) return;
    try {
      this.threads = await listThreads(this.session.agent, this.session.abort);
      this.#draw();
      await this.#name();
    } catch (problem) {
      if (!this.session.abort.aborted) fill(this.list, h("li", { class: "muted small" }, problem.message));
    }
  }

  async #name() {
    for (const { threadId } of this.threads.slice(0, TITLED)) {
      if (titles.has(this.#key(threadId))) continue;
      const thread = await getJson(`${at("agents", this.session.agent)}/threads/${at(threadId)}`, { signal: this.session.abort }).catch(() => null);
      titles.set(this.#key(threadId), firstWords(thread?.messages ?? []));
      this.#draw();
    }
  }

  #key(threadId) { return `${this.session.agent}/${threadId}`; }

  #draw() {
    fill(this.list, this.threads.length ? this.threads.map((thread) => this.#row(thread)) : h("li", { class: "muted small" }, "None yet. Say something."));
  }

  #row({ threadId, updated, waiting }) {
    const here = threadId === this.session.thread, name = titles.get(this.#key(threadId)) || threadId;
    return h("li", { class: "thread-row" },
      h("a", { href: addressOf(this.session.agent, threadId), "aria-current": here ? "page" : undefined, title: threadId }, h("span", { class: "clip" }, name), h("span", { class: "small muted" }, ago(updated), waiting && " · waiting")),
      h("button", { class: "btn quiet only", type: "button", "aria-label": "Delete this thread", title: `Delete “${name}”`, on: { click: () => this.#delete(threadId, name) } }, icon("trash")));
  }

  async #delete(threadId, name) {
    const sure = await openDialog("Delete this thread?", (close) => h("div", { class: "stack" }, h("p", {}, `“${name}” and everything in it. It cannot be brought back.`),
      h("div", { class: "row" }, h("button", { class: "btn danger", on: { click: () => close(true) } }, "Delete"), h("button", { class: "btn", on: { click: () => close(false) } }, "Keep"))));
    if (!sure) return;
    try {
      await deleteThread(this.session.agent, threadId);
      if (threadId === this.session.thread) location.hash = addressOf(this.session.agent, newThread());
      else await this.refresh();
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

function firstWords(messages) {
  const said = messages.find((message) => message.role === "user")?.content;
  const words = typeof said === "string" ? said : Array.isArray(said) ? said.map((part) => part.text ?? `[${part.type}]`).join(" ") : "";
  return words.trim().replace(/\s+/g, " ").slice(0, 60);
}

const STEPS = [[60, "s"], [60, "min"], [24, "h"], [Infinity, "d"]];

export function ago(seconds, now = Date.now()) {
  let passed = Math.max(0, now / 1000 - seconds);
  for (const [size, unit] of STEPS) {
    if (passed < size) return unit === "s" ? "just now" : `${Math.floor(passed)} ${unit} ago`;
    passed /= size;
  }
}
