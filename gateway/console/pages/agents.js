// The agents there are, as cards: what they are, whether they can run, and if not what to do about it.

import { getJson } from "../lib/api.js";
import { fill, h, icon } from "../lib/dom.js";
import { troubleNotice } from "../lib/errors.js";
import { inlineNodes } from "../render/markdown.js";
import { byAgent, FACETS, facetsOf, matches, sorted, STATUSES } from "./highlights.js";
import { chatLink, facts, keepInAddress, keepLooking, remedy, statusTag } from "./agent_parts.js";

const EVERY = 10_000; // ms between looks: installing an agent takes longer
const CHIPS = 7;

export async function agentsPage(_, query, { abort }) {
  const page = new Agents(query);
  await page.look(abort);
  keepLooking(() => page.look(abort), EVERY, abort, (problem, again) => page.trouble(problem, again));
  return page.node;
}

class Agents {
  #agents = [];
  #facets = new Map();
  #cards = new Map();
  #last = "";

  constructor(query) {
    this.wish = { query: query.get("q") ?? "", status: query.get("status") ?? "", facets: (query.get("can") ?? "").split(",").filter(Boolean) };
    this.search = h("input", { type: "search", value: this.wish.query, placeholder: "Search by name, provider, id", "aria-label": "Search agents", on: { input: () => this.#wished({ query: this.search.value }) } });
    this.statuses = h("div", { class: "segments", role: "group", "aria-label": "Availability" });
    this.chips = h("div", { class: "row wrap chips", role: "group", "aria-label": "Only agents that have" });
    this.count = h("span", { class: "muted small", role: "status" });
    this.notice = h("div");
    this.grid = h("div", { class: "cards" });
    this.node = h("div", { class: "page stack" },
      h("div", { class: "page-head" }, h("div", { class: "grow" }, h("h1", {}, "Agents"), h("p", { class: "muted" }, "Every one speaks AG-UI here. What it can do is read off it, not assumed.")), this.count),
      h("div", { class: "filters" }, h("div", { class: "row wrap" }, h("div", { class: "search" }, icon("search"), this.search), this.statuses), this.chips), this.notice, this.grid);
  }

  async look(abort) {
    const [listed, matrix] = await Promise.all([getJson("agents", { signal: abort }), getJson("capabilities/matrix", { signal: abort })]);
    const all = JSON.stringify([listed, matrix]);
    if (all === this.#last) return;
    this.#last = all;
    const values = byAgent(matrix);
    this.#agents = sorted(listed.agents);
    this.#facets = new Map(listed.agents.map((agent) => [agent.id, facetsOf(agent, values[agent.id] ?? {})]));
    this.#values = values;
    this.#draw();
  }

  #values = {};

  trouble(problem, again) {
    fill(this.notice, problem && troubleNotice(problem, again, "warn"));
  }

  #wished(change) {
    Object.assign(this.wish, change);
    keepInAddress("/", { q: this.wish.query, status: this.wish.status, can: this.wish.facets.join(",") });
    this.#draw();
  }

  #draw() {
    const shown = this.#agents.filter((agent) => matches(agent, this.wish, this.#facets.get(agent.id)));
    this.#drawFilters();
    fill(this.count, shown.length === this.#agents.length ? `${shown.length} agents` : `${shown.length} of ${this.#agents.length} agents`);
    const known = new Set(this.#agents.map((agent) => agent.id));
    for (const id of this.#cards.keys()) if (!known.has(id)) this.#cards.delete(id);
    fill(this.grid, shown.map((agent) => this.#card(agent)), !shown.length && h("div", { class: "empty card" }, h("p", {}, "No agent fits."), h("button", { class: "btn", on: { click: () => this.#clear() } }, "Show all")));
  }

  #clear() {
    this.search.value = "";
    this.#wished({ query: "", status: "", facets: [] });
  }

  /** The same element as long as nothing about the agent changed: focus and selection stay where they are. */
  #card(agent) {
    const told = JSON.stringify([agent, this.#facets.get(agent.id)]), known = this.#cards.get(agent.id);
    if (known?.told === told) return known.node;
    const node = card(agent, this.#facets.get(agent.id), this.#values[agent.id] ?? {});
    this.#cards.set(agent.id, { told, node });
    return node;
  }

  #drawFilters() {
    const here = document.activeElement?.dataset?.filter;
    const count = (status) => this.#agents.filter((agent) => agent.availability.status === status).length;
    const segment = (status, words) => h("button", { type: "button", class: "segment", dataset: { filter: `s-${status}` }, "aria-pressed": String(this.wish.status === status), on: { click: () => this.#wished({ status }) } }, words, status && h("span", { class: "muted" }, ` ${count(status)}`));
    fill(this.statuses, segment("", "All"), Object.entries(STATUSES).filter(([status]) => count(status)).map(([status, words]) => segment(status, words)));
    const toggle = (id) => this.#wished({ facets: this.wish.facets.includes(id) ? this.wish.facets.filter((one) => one !== id) : [...this.wish.facets, id] });
    fill(this.chips, FACETS.filter(([id]) => [...this.#facets.values()].some((has) => has.includes(id))).map(([id, words]) =>
      h("button", { type: "button", class: "chip", dataset: { filter: `f-${id}` }, "aria-pressed": String(this.wish.facets.includes(id)), on: { click: () => toggle(id) } }, words)));
    if (here) this.node.querySelector(`[data-filter="${CSS.escape(here)}"]`)?.focus();
  }
}

const TRANSPORTS = { "transport.streaming": "SSE", "transport.httpBinary": "protobuf", "transport.websocket": "WebSocket" };

function card(agent, facets, values) {
  const { id, identity, availability } = agent, ready = availability.status === "ready", first = id === "demo";
  const home = `#/agents/${encodeURIComponent(id)}`, name = identity.name ?? id;
  const names = FACETS.filter(([facet]) => facets.includes(facet)).map(([, words]) => words);
  const ways = Object.entries(TRANSPORTS).filter(([path]) => values[path]).map(([, words]) => words);
  return h("article", { class: `card agent ${ready ? "" : "away"}`, "aria-labelledby": `agent-${id}` },
    h("div", { class: "row" }, h("h2", { id: `agent-${id}`, class: "grow clip" }, h("a", { href: home }, name)), statusTag(availability)),
    h("p", { class: "small muted agent-facts" }, h("span", { class: "mono" }, id), ` · ${facts(agent)}`),
    identity.description && h("p", { class: "agent-about md" }, inlineNodes(identity.description)),
    agent.definition && h("div", { class: "notice warn" }, `Its file is wrong, and the last good one is in use: ${agent.definition.error}`),
    remedy(availability),
    h("div", { class: "agent-chips" }, names.slice(0, CHIPS).map((words) => h("span", { class: "tag" }, words)), names.length > CHIPS && h("span", { class: "tag", title: names.slice(CHIPS).join(", ") }, `+${names.length - CHIPS}`)),
    h("div", { class: "row agent-foot" }, h("span", { class: "muted tiny grow" }, ways.join(" · ")),
      h("a", { class: "btn quiet", href: home, "aria-label": `Details of ${name}` }, "Details"),
      ready && chatLink(id, { words: first ? "Try it" : "Chat", primary: true })),
    first && ready && h("p", { class: "agent-hint small" }, "New here? It needs no model and no key, and shows everything a frontend can meet."));
}
