// The start page: all agents as cards with availability, capabilities and what to do when one cannot run. Can be filtered.

import { getJson } from "../lib/api.js";
import { fill, h, icon } from "../lib/dom.js";
import { errorNotice } from "../lib/errors.js";
import { inlineNodes } from "../render/markdown.js";
import { FACETS, findFacets, groupByAgent, matchesFilter, sortAgents, STATUSES } from "./highlights.js";
import { chatLink, describeAgent, pollWhileVisible, remedyView, saveInAddress, statusTag } from "./agent_parts.js";

const POLL_MS = 10_000; // installing an agent takes longer than this
const MAX_CARD_FACETS = 7;

export async function agentsPage(_, query, { abort }) {
  const page = new AgentsPage(query);
  await page.load(abort);
  pollWhileVisible(() => page.load(abort), POLL_MS, abort, (problem, retry) => page.showError(problem, retry));
  return page.node;
}

class AgentsPage {
  #agents = [];
  #facets = new Map();
  #cards = new Map();
  #lastResponse = "";

  constructor(query) {
    this.filter = { query: query.get("q") ?? "", status: query.get("status") ?? "", facets: (query.get("can") ?? "").split(",").filter(Boolean) };
    this.search = h("input", { type: "search", value: this.filter.query, placeholder: "Search by name, provider or id",
      "aria-label": "Search agents", on: { input: () => this.#setFilter({ query: this.search.value }) } });
    this.statuses = h("div", { class: "segments", role: "group", "aria-label": "Availability" });
    this.chips = h("div", { class: "row wrap chips", role: "group", "aria-label": "Filter by capability" });
    this.count = h("span", { class: "muted small", role: "status" });
    this.notice = h("div");
    this.grid = h("div", { class: "cards" });
    this.node = h("div", { class: "page stack" },
      h("div", { class: "page-head" }, h("div", { class: "grow" }, h("h1", {}, "Agents"),
        h("p", { class: "muted" }, "The gateway offers every agent over AG-UI and reports what each one supports.")), this.count),
      h("div", { class: "filters" }, h("div", { class: "row wrap" }, h("div", { class: "search" }, icon("search"), this.search), this.statuses),
        this.chips), this.notice, this.grid);
  }

  async load(abort) {
    const [listed, matrix] = await Promise.all([getJson("agents", { signal: abort }), getJson("capabilities/matrix", { signal: abort })]);
    const json = JSON.stringify([listed, matrix]);
    if (json === this.#lastResponse) return;
    this.#lastResponse = json;
    const values = groupByAgent(matrix);
    this.#agents = sortAgents(listed.agents);
    this.#facets = new Map(listed.agents.map((agent) => [agent.id, findFacets(agent, values[agent.id] ?? {})]));
    this.#values = values;
    this.#draw();
  }

  #values = {};

  showError(problem, retry) {
    fill(this.notice, problem && errorNotice(problem, retry, "warn"));
  }

  #setFilter(change) {
    Object.assign(this.filter, change);
    saveInAddress("/", { q: this.filter.query, status: this.filter.status, can: this.filter.facets.join(",") });
    this.#draw();
  }

  #draw() {
    const shown = this.#agents.filter((agent) => matchesFilter(agent, this.filter, this.#facets.get(agent.id)));
    this.#drawFilters();
    fill(this.count, shown.length === this.#agents.length ? `${shown.length} agents` : `${shown.length} of ${this.#agents.length} agents`);
    const known = new Set(this.#agents.map((agent) => agent.id));
    for (const id of this.#cards.keys()) if (!known.has(id)) this.#cards.delete(id);
    fill(this.grid, shown.map((agent) => this.#card(agent)),
      !shown.length && h("div", { class: "empty card" }, h("p", {}, "No agent matches these filters."),
      h("button", { class: "btn", on: { click: () => this.#clear() } }, "Clear filters")));
  }

  #clear() {
    this.search.value = "";
    this.#setFilter({ query: "", status: "", facets: [] });
  }

  /** Reuses the card while the agent is unchanged, so that focus and text selection are kept. */
  #card(agent) {
    const json = JSON.stringify([agent, this.#facets.get(agent.id)]), known = this.#cards.get(agent.id);
    if (known?.json === json) return known.node;
    const node = buildCard(agent, this.#facets.get(agent.id), this.#values[agent.id] ?? {});
    this.#cards.set(agent.id, { json, node });
    return node;
  }

  #drawFilters() {
    const focused = document.activeElement?.dataset?.filter;
    const count = (status) => this.#agents.filter((agent) => agent.availability.status === status).length;
    const segment = (status, label) => h("button",
      { type: "button", class: "segment", dataset: { filter: `s-${status}` }, "aria-pressed": String(this.filter.status === status),
      on: { click: () => this.#setFilter({ status }) } }, label, status && h("span", { class: "muted" }, ` ${count(status)}`));
    fill(this.statuses, segment("", "All"), Object.entries(STATUSES).filter(([status]) => count(status)).map(([status, label]) => segment(status, label)));
    const toggle = (id) => this.#setFilter({ facets: this.filter.facets.includes(id) ? this.filter.facets.filter((facet) => facet !== id)
      : [...this.filter.facets, id] });
    fill(this.chips, FACETS.filter(([id]) => [...this.#facets.values()].some((facets) => facets.includes(id))).map(([id, label]) =>
      h("button", { type: "button", class: "chip", dataset: { filter: `f-${id}` }, "aria-pressed": String(this.filter.facets.includes(id)),
        on: { click: () => toggle(id) } }, label)));
    if (focused) this.node.querySelector(`[data-filter="${CSS.escape(focused)}"]`)?.focus();
  }
}

const TRANSPORTS = { "transport.streaming": "SSE", "transport.httpBinary": "protobuf", "transport.websocket": "WebSocket" };

function buildCard(agent, facets, values) {
  const { id, identity, availability } = agent, ready = availability.status === "ready", isDemo = id === "demo";
  const address = `#/agents/${encodeURIComponent(id)}`, name = identity.name ?? id;
  const names = FACETS.filter(([facet]) => facets.includes(facet)).map(([, label]) => label);
  const transports = Object.entries(TRANSPORTS).filter(([path]) => values[path]).map(([, label]) => label);
  return h("article", { class: `card agent ${ready ? "" : "away"}`, "aria-labelledby": `agent-${id}` },
    h("div", { class: "row" }, h("h2", { id: `agent-${id}`, class: "grow clip" }, h("a", { href: address }, name)), statusTag(availability)),
    h("p", { class: "small muted agent-summary" }, h("span", { class: "mono" }, id), ` · ${describeAgent(agent)}`),
    identity.description && h("p", { class: "agent-about md" }, inlineNodes(identity.description)),
    agent.definition && h("div", { class: "notice warn" }, `The agent's file has an error. The gateway uses the last valid version. ${agent.definition.error}`),
    remedyView(availability),
    h("div", { class: "agent-chips" }, names.slice(0, MAX_CARD_FACETS).map((label) => h("span", { class: "tag" }, label)),
      names.length > MAX_CARD_FACETS && h("span", { class: "tag", title: names.slice(MAX_CARD_FACETS).join(", ") }, `+${names.length - MAX_CARD_FACETS}`)),
    h("div", { class: "row agent-foot" }, h("span", { class: "muted tiny grow" }, transports.join(" · ")),
      h("a", { class: "btn quiet", href: address, "aria-label": `Details of ${name}` }, "Details"),
      ready && chatLink(id, { label: isDemo ? "Try it" : "Chat", primary: true })),
    isDemo && ready && h("p", { class: "agent-hint small" },
      "New here? The demo agent needs no model and no API key. It shows every AG-UI feature."));
}
