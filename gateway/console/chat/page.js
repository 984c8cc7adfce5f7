// The chat page of one agent. Its controls follow the capability snapshot and change with it while the page is open.

import { fill, h, icon } from "../lib/dom.js";
import { remedyView, statusTag } from "../pages/agent_parts.js";
import { Approvals } from "./approvals.js";
import { Composer } from "./composer.js";
import { readSession, readWorktree, suggestedMessages } from "./capabilities.js";
import { chatAddress, History, newThreadId } from "./history.js";
import { MessageList } from "./message_list.js";
import { agentActions, openPalette } from "./palette.js";
import { Session } from "./session.js";
import { trustTag } from "./trust.js";

const HISTORY_KEY = "agui-gateway-history", WIDE_PX = 1000, INSPECTOR_DELAY_MS = 120;

export async function chatPage({ agent, thread }, query, { abort }) {
  if (!thread) {
    location.replace(chatAddress(agent, newThreadId()) + (query.size ? `?${query}` : ""));
    return h("div", {});
  }
  const page = new ChatPage(agent, thread, abort);
  await page.session.open();
  return page.open(query.get("say"));
}

class ChatPage {
  constructor(agent, thread, abort) {
    this.abort = abort;
    this.session = new Session(agent, thread, abort, () => this.#onUpdate());
    const writeMessage = (text) => this.composer.write(text);
    this.list = new MessageList(this.session.model, { session: this.session, writeMessage });
    this.composer = new Composer(this.session, { openPalette: () => this.openPalette() });
    this.approvals = new Approvals(this.session, () => this.composer.input.focus());
    this.history = new History(this.session);
    this.status = h("div", { class: "sr", role: "status" });
    this.inspector = null;
  }

  #onUpdate() {
    this.list.schedule();
    if (this.inspector && !this.inspector.node.hidden && !this.inspectorScheduled) {
      this.inspectorScheduled = true;
      setTimeout(() => { this.inspectorScheduled = false; this.inspector.update(); }, INSPECTOR_DELAY_MS);
    }
  }

  open(text) {
    const { session } = this;
    this.welcome = h("div", { class: "welcome", dataset: { testid: "welcome" } });
    this.main = h("div", { class: "conversation" }, this.#header(),
      h("div", { class: "log-frame" }, this.list.node, this.welcome, this.list.jumpButton), this.approvals.node, this.composer.node, this.status);
    this.node = h("div", { class: "chat", dataset: { testid: "chat" } }, this.history.node, this.main);
    session.run.subscribe((run) => this.#showRun(run), this.abort);
    for (const source of [session.capabilities, session.connection]) source.subscribe(() => this.#showAgent(), this.abort);
    session.threadVersion.subscribe(() => this.#showWelcome(), this.abort);
    const onKey = (event) => this.#onKey(event), onVisible = () => !document.hidden && session.refresh().catch(() => {});
    addEventListener("keydown", onKey, { signal: this.abort });
    this.abort.addEventListener("abort", () => this.#close());
    document.addEventListener("visibilitychange", onVisible, { signal: this.abort });
    this.#showHistory(innerWidth >= WIDE_PX && localStorage.getItem(HISTORY_KEY) !== "closed");
    this.list.flush();
    requestAnimationFrame(() => { this.list.scrollToEnd(); if (innerWidth >= WIDE_PX && this.approvals.node.hidden) this.composer.input.focus(); });
    if (text) this.composer.write(text);
    return this.node;
  }

  /** The page stays visible until the next one is loaded. It takes no more input, because that would be lost. */
  #close() {
    document.title = "agui-gateway";
    this.node.inert = true;
    this.composer.input.disabled = true;
  }

  #header() {
    this.name = h("h1", { class: "clip" });
    this.badge = h("span", { class: "badge" });
    this.meter = h("span", { class: "small muted meter", dataset: { testid: "session-usage" } });
    this.branchButton = h("button", { class: "btn quiet branch", type: "button", hidden: true, dataset: { testid: "branch" },
      on: { click: () => this.inspect("changes") } });
    this.historyButton = h("button", { class: "btn quiet only", "aria-label": "Threads", title: "Threads",
      on: { click: () => this.#showHistory(this.history.node.hidden) } }, icon("history"));
    this.inspectButton = h("button", { class: "btn quiet", "aria-label": "Inspector", "aria-expanded": "false",
      on: { click: () => this.inspect() } }, icon("panel"), h("span", { class: "wide" }, "Inspector"));
    return h("div", { class: "chat-head row" }, this.historyButton, this.name, this.badge, h("span", { class: "grow" }), this.branchButton, this.meter,
      h("a", { class: "btn quiet", href: `#/agents/${encodeURIComponent(this.session.agent)}`, "aria-label": "Capabilities",
        title: "Show the capabilities of this agent and their sources" }, icon("info"), h("span", { class: "wide" }, "Capabilities")),
      this.inspectButton, h("a", { class: "btn quiet only new", "aria-label": "New thread", title: "New thread",
        href: chatAddress(this.session.agent, newThreadId()) }, icon("plus")));
  }

  #showAgent() {
    const { identity = {} } = this.session.capabilities.value, { usage } = readSession(this.session.capabilities.value);
    this.name.textContent = identity.name ?? this.session.agent;
    this.name.title = identity.description ?? "";
    document.title = `${identity.name ?? this.session.agent} · agui-gateway`;
    const { availability } = this.session.agentInfo.value;
    fill(this.badge, this.session.connection.value === "lost" ? h("span", { class: "tag bad" }, h("span", { class: "dot" }), "Unreachable")
      : [availability && statusTag(availability), " ", trustTag(this.session.capabilities.value)]);
    this.meter.textContent = formatUsage(usage);
    this.#showBranch(readWorktree(this.session.capabilities.value));
    this.#showWelcome();
  }

  #showBranch(worktree) {
    this.branchButton.hidden = !worktree;
    if (!worktree) return;
    this.branchButton.title = `This thread works in a git worktree of its own, from ${worktree.base}. Show its changes.`;
    fill(this.branchButton, icon("fork"), h("span", { class: "wide clip mono" }, worktree.branch));
    this.branchButton.setAttribute("aria-label", `Changes on the branch ${worktree.branch}`);
  }

  /** In an empty thread: name and description of the agent, and suggested messages. */
  #showWelcome() {
    const { capabilities, model, agentInfo, run } = this.session, { identity = {} } = capabilities.value, { availability = {} } = agentInfo.value;
    this.welcome.hidden = model.items.length > 0 || run.value !== "idle";
    if (this.welcome.hidden) return;
    fill(this.welcome, h("h2", {}, identity.name ?? this.session.agent),
      identity.description && h("p", { class: "muted" }, identity.description.replaceAll("`", "")),
      availability.status && availability.status !== "ready" && remedyView(availability),
      h("div", { class: "row wrap" }, suggestedMessages(capabilities.value).map(({ text, about }) => h("button",
        { class: "btn", title: about, on: { click: () => this.composer.send(text) } }, text))));
  }

  #showRun(run) {
    const name = this.session.capabilities.value.identity?.name ?? this.session.agent;
    const wasBusy = this.list.node.getAttribute("aria-busy") === "true";
    this.list.node.setAttribute("aria-busy", String(run !== "idle"));
    this.main.classList.toggle("live", run !== "idle");
    if (run === "live" && !wasBusy) this.status.textContent = `${name} is answering.`;
    if (run === "idle" && wasBusy) this.status.textContent = this.session.model.interrupts.length ? `${name} is waiting for your answer.`
      : `${name} has finished.`;
    this.#showWelcome();
  }

  #showHistory(open) {
    this.history.node.hidden = !open;
    this.historyButton.setAttribute("aria-expanded", String(open));
    if (innerWidth >= WIDE_PX) localStorage.setItem(HISTORY_KEY, open ? "open" : "closed");
    if (open) this.history.refresh();
  }

  async inspect(tab) {
    if (!this.inspector) {
      const { Inspector } = await import("./inspector.js");
      this.inspector = new Inspector(this.session, () => this.inspect());
      this.node.append(this.inspector.node);
    }
    const { node } = this.inspector, open = node.hidden || tab !== undefined;
    node.hidden = !open;
    this.node.classList.toggle("inspecting", open);
    this.inspectButton.setAttribute("aria-expanded", String(open));
    if (open) this.inspector.show(tab);
    else this.inspectButton.focus();
  }

  openPalette() {
    const { session } = this, inspect = (tab, name) => ({ name, group: "console", run: () => this.inspect(tab) });
    openPalette([
      ...agentActions(session, this.composer.pickers.available, (text) => this.composer.write(text)),
      session.live && { name: "Stop the run", group: "console", run: () => session.stop() },
      { name: "New thread", group: "console", run: () => { location.hash = chatAddress(session.agent, newThreadId()); } },
      { name: "Show or hide the threads", group: "console", run: () => this.#showHistory(this.history.node.hidden) },
      inspect("events", "Inspector: events"), inspect("snapshot", "Inspector: snapshot with sources"),
        inspect("tools", "Inspector: tools, subagents and commands"), inspect("state", "Inspector: shared state"),
        inspect("changes", "Inspector: changes in the worktree"), inspect("requests", "Inspector: requests as curl"),
    ].filter(Boolean));
  }

  #onKey(event) {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      if (!document.querySelector("dialog[open]")) this.openPalette();
    }
  }
}

function formatUsage({ used, size, cost }) {
  const formatCount = (count) => (count >= 1000 ? `${(count / 1000).toFixed(count >= 100_000 ? 0 : 1)}k` : String(count));
  const parts = [];
  if (typeof used === "number") parts.push(typeof size === "number" ? `context ${formatCount(used)} of ${formatCount(size)}` : `context ${formatCount(used)}`);
  if (typeof cost?.amount === "number") parts.push(`${cost.amount.toFixed(2)} ${cost.currency ?? ""}`.trim());
  return parts.join(" · ");
}
