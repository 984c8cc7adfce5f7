// The chat with one agent: made of what its snapshot says, and changed with it while it is open.

import { fill, h, icon } from "../lib/dom.js";
import { remedy, statusTag } from "../pages/agent_parts.js";
import { Approvals } from "./approvals.js";
import { Composer } from "./composer.js";
import { openers, session as facts } from "./capabilities.js";
import { addressOf, History, newThread } from "./history.js";
import { List } from "./message_list.js";
import { offers, openPalette } from "./palette.js";
import { Session } from "./session.js";

const HISTORY = "agui-gateway-history", WIDE = 1000;

export async function chatPage({ agent, thread }, query, { abort }) {
  if (!thread) {
    location.replace(addressOf(agent, newThread()) + (query.size ? `?${query}` : ""));
    return h("div", {});
  }
  const page = new Chat(agent, thread, abort);
  await page.session.open();
  return page.open(query.get("say"));
}

class Chat {
  constructor(agent, thread, abort) {
    this.abort = abort;
    this.session = new Session(agent, thread, abort, () => this.#news());
    const say = (words) => this.composer.write(words);
    this.list = new List(this.session.model, { session: this.session, say });
    this.composer = new Composer(this.session, { palette: () => this.palette() });
    this.approvals = new Approvals(this.session, () => this.composer.input.focus());
    this.history = new History(this.session);
    this.status = h("div", { class: "sr", role: "status" });
    this.inspector = null;
  }

  #news() {
    this.list.schedule();
    if (this.inspector && !this.inspector.node.hidden && !this.inspecting) {
      this.inspecting = true;
      setTimeout(() => { this.inspecting = false; this.inspector.update(); }, 120);
    }
  }

  open(words) {
    const { session } = this;
    this.welcome = h("div", { class: "welcome", dataset: { testid: "welcome" } });
    this.main = h("div", { class: "talk" }, this.#header(), h("div", { class: "log-frame" }, this.list.node, this.welcome, this.list.down), this.approvals.node, this.composer.node, this.status);
    this.node = h("div", { class: "chat", dataset: { testid: "chat" } }, this.history.node, this.main);
    session.run.follow((run) => this.#running(run), this.abort);
    for (const told of [session.capabilities, session.feed]) told.follow(() => this.#changed(), this.abort);
    session.moved.follow(() => this.#welcome(), this.abort);
    const keys = (event) => this.#pressed(event), seen = () => !document.hidden && session.refresh().catch(() => {});
    addEventListener("keydown", keys, { signal: this.abort });
    this.abort.addEventListener("abort", () => this.#left());
    document.addEventListener("visibilitychange", seen, { signal: this.abort });
    this.#showHistory(innerWidth >= WIDE && localStorage.getItem(HISTORY) !== "closed");
    this.list.flush();
    requestAnimationFrame(() => { this.list.toEnd(); if (innerWidth >= WIDE && this.approvals.node.hidden) this.composer.input.focus(); });
    if (words) this.composer.write(words);
    return this.node;
  }

  /** The next page is not there yet, and this one is: nothing that is typed into it would be kept. */
  #left() {
    document.title = "agui-gateway";
    this.node.inert = true;
    this.composer.input.disabled = true;
  }

  #header() {
    this.name = h("h1", { class: "clip" });
    this.badge = h("span", { class: "badge" });
    this.meter = h("span", { class: "small muted meter", dataset: { testid: "session-usage" } });
    this.historyButton = h("button", { class: "btn quiet only", "aria-label": "Threads", title: "Threads", on: { click: () => this.#showHistory(this.history.node.hidden) } }, icon("history"));
    this.inspectButton = h("button", { class: "btn quiet", "aria-label": "Inspector", "aria-expanded": "false", on: { click: () => this.inspect() } }, icon("panel"), h("span", { class: "wide" }, "Inspector"));
    return h("div", { class: "chat-head row" }, this.historyButton, this.name, this.badge, h("span", { class: "grow" }), this.meter,
      h("a", { class: "btn quiet", href: `#/agents/${encodeURIComponent(this.session.agent)}`, "aria-label": "Capabilities", title: "What this agent can do, and who said so" }, icon("info"), h("span", { class: "wide" }, "Capabilities")),
      this.inspectButton, h("a", { class: "btn quiet only new", "aria-label": "New thread", title: "New thread", href: addressOf(this.session.agent, newThread()) }, icon("plus")));
  }

  #changed() {
    const { identity = {} } = this.session.capabilities.value, { usage } = facts(this.session.capabilities.value);
    this.name.textContent = identity.name ?? this.session.agent;
    this.name.title = identity.description ?? "";
    document.title = `${identity.name ?? this.session.agent} · agui-gateway`;
    const { availability } = this.session.about.value;
    fill(this.badge, this.session.feed.value === "lost" ? h("span", { class: "tag bad" }, h("span", { class: "dot" }), "Out of reach") : availability && statusTag(availability));
    this.meter.textContent = metered(usage);
    this.#welcome();
  }

  /** Before the first word: who this is, and what it suggests to say. */
  #welcome() {
    const { capabilities, model, about, run } = this.session, { identity = {} } = capabilities.value, { availability = {} } = about.value;
    this.welcome.hidden = model.items.length > 0 || run.value !== "idle";
    if (this.welcome.hidden) return;
    fill(this.welcome, h("h2", {}, identity.name ?? this.session.agent), identity.description && h("p", { class: "muted" }, identity.description.replaceAll("`", "")),
      availability.status && availability.status !== "ready" && remedy(availability),
      h("div", { class: "row wrap" }, openers(capabilities.value).map(({ say, about }) => h("button", { class: "btn", title: about, on: { click: () => this.composer.send(say) } }, say))));
  }

  #running(run) {
    const who = this.session.capabilities.value.identity?.name ?? this.session.agent;
    const before = this.list.node.getAttribute("aria-busy") === "true";
    this.list.node.setAttribute("aria-busy", String(run !== "idle"));
    this.main.classList.toggle("live", run !== "idle");
    if (run === "live" && !before) this.status.textContent = `${who} is answering.`;
    if (run === "idle" && before) this.status.textContent = this.session.model.interrupts.length ? `${who} asks you something.` : `${who} has finished.`;
    this.#welcome();
  }

  #showHistory(open) {
    this.history.node.hidden = !open;
    this.historyButton.setAttribute("aria-expanded", String(open));
    if (innerWidth >= WIDE) localStorage.setItem(HISTORY, open ? "open" : "closed");
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

  palette() {
    const { session } = this, inspect = (tab, name) => ({ name, group: "console", run: () => this.inspect(tab) });
    openPalette([
      ...offers(session, this.composer.pickers.offered, (words) => this.composer.write(words)),
      session.live && { name: "Stop the run", group: "console", run: () => session.stop() },
      { name: "New thread", group: "console", run: () => { location.hash = addressOf(session.agent, newThread()); } },
      { name: "Threads", about: "show or hide", group: "console", run: () => this.#showHistory(this.history.node.hidden) },
      inspect("events", "Events as they were sent"), inspect("snapshot", "The snapshot, explained"), inspect("tools", "Tools, helpers, commands"), inspect("state", "Shared state"), inspect("requests", "Copy as curl"),
    ].filter(Boolean));
  }

  #pressed(event) {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      if (!document.querySelector("dialog[open]")) this.palette();
    }
  }
}

function metered({ used, size, cost }) {
  const short = (count) => (count >= 1000 ? `${(count / 1000).toFixed(count >= 100_000 ? 0 : 1)}k` : String(count));
  const parts = [];
  if (typeof used === "number") parts.push(typeof size === "number" ? `context ${short(used)} of ${short(size)}` : `context ${short(used)}`);
  if (typeof cost?.amount === "number") parts.push(`${cost.amount.toFixed(2)} ${cost.currency ?? ""}`.trim());
  return parts.join(" · ");
}
