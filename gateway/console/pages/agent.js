// One agent: what it is, how to call it, and what it can do now, as its snapshot changes.

import { at, follow, getJson } from "../lib/api.js";
import { fill, h, icon } from "../lib/dom.js";
import { CapabilityTree, when } from "../render/capability.js";
import { copyButton } from "../render/copy.js";
import { inlineNodes } from "../render/markdown.js";
import { safeLink } from "../render/url_policy.js";
import { Tree } from "../render/tree.js";
import { modelsTable } from "./models.js";
import { chatLink, command, facts, keepLooking, remedy, statusTag } from "./agent_parts.js";

const VIEWS = { agui: "AG-UI", acp: "ACP", mux: "agent-mux", relay: "agent-relay" };
const EVERY = 10_000;

export async function agentPage({ agent: id }, _, { abort }) {
  const own = `agents/${at(id)}`;
  const page = new Agent(id, own, abort);
  await page.look();
  await Promise.all([page.explain(), page.models(), page.threads()]);
  follow(`${own}/capabilities`, () => page.explain().catch(() => {}), abort, (state, problem) => page.feed(state, problem));
  keepLooking(async () => { await page.look(); await page.threads(); }, EVERY, abort, (problem) => page.feed(problem ? "lost" : "open", problem));
  return page.node;
}

class Agent {
  #tree = new CapabilityTree();
  #told = "";
  #asked = 0;

  constructor(id, own, abort) {
    Object.assign(this, { id, own, abort });
    this.head = h("header", { class: "stack agent-head" });
    this.state = h("span", { class: "tag", role: "status" });
    this.list = h("div");
    this.prices = h("div");
    this.node = h("div", { class: "page stack" }, this.head,
      h("div", { class: "agent-grid" },
        h("div", { class: "stack" }, section("Capabilities", this.#tree.node, { beside: this.state, note: "Open a line to see who said it, when, and whom that overridden." })),
        h("div", { class: "stack" }, section("Call it", callIt(own)), section("Models", this.prices), section("Threads", this.list), section("Other words for it", views(own)))));
  }

  get(path) { return getJson(path, { signal: this.abort }); }

  async look() {
    const agent = await this.get(this.own), told = JSON.stringify(agent);
    if (told === this.#told) return;
    this.#told = told;
    const { identity, availability } = agent, ready = availability.status === "ready", link = docs(identity.documentationUrl);
    fill(this.head,
      h("nav", { class: "small", "aria-label": "Where this is" }, h("a", { href: "#/" }, "Agents"), " / ", h("span", { class: "mono" }, this.id)),
      h("div", { class: "row wrap" }, h("h1", {}, identity.name ?? this.id), statusTag(availability), h("span", { class: "grow" }),
        h("a", { class: "btn", href: `#/compare?a=${encodeURIComponent(this.id)}` }, "Compare"), chatLink(this.id, { primary: ready })),
      h("p", { class: "muted" }, [facts(agent), link && [" · ", link]]), identity.description && h("p", { class: "md" }, inlineNodes(identity.description)),
      agent.definition && h("div", { class: "notice warn" }, `Its file is wrong since ${when(agent.definition.since)}, and the last good one is in use: ${agent.definition.error}`), remedy(availability));
  }

  /** The feed says that something changed, this says who says so now. Only the newest answer counts. */
  async explain() {
    const asked = ++this.#asked, told = await this.get(`${this.own}/capabilities?explain=1`);
    if (asked === this.#asked) this.#tree.update(told.capabilities, told.explain);
  }

  feed(state, problem) {
    this.state.className = `tag ${state === "open" ? "good" : "warn"}`;
    fill(this.state, h("span", { class: "dot" }), state === "open" ? "live" : state === "refused" ? problem.message : "the gateway is out of reach");
  }

  async models() {
    const told = await this.get(`${this.own}/models`);
    fill(this.prices, modelsTable(told));
  }

  async threads() {
    const { threads } = await this.get(`${this.own}/threads`);
    const row = (thread) => h("li", {}, h("a", { class: "thread", href: `#/agents/${encodeURIComponent(this.id)}/chat/${encodeURIComponent(thread.threadId)}` },
      h("span", { class: `clip grow ${thread.title ? "" : "mono"}`, title: thread.threadId }, thread.title || thread.threadId), doing(thread.status), h("span", { class: "muted small" }, when(new Date(thread.updated * 1000).toISOString()))));
    fill(this.list, threads.length ? h("ul", { class: "threads" }, threads.slice(0, 50).map(row)) : h("p", { class: "muted small" }, "None yet."));
  }
}

/** That a thread runs is news; only that it waits is the reader's business. */
function doing(status) {
  if (status === "running") return h("span", { class: "tag" }, "running");
  return status === "waiting" && h("span", { class: "tag warn" }, "waits for you");
}

function docs(address) {
  const href = safeLink(address);
  return href ? h("a", { href, target: "_blank", rel: "noopener noreferrer" }, "Documentation") : null;
}

function section(title, body, { beside, note } = {}) {
  return h("section", { class: "card stack" }, h("div", { class: "row" }, h("h2", { class: "grow" }, title), beside), note && h("p", { class: "muted small" }, note), body);
}

/** An address for a program, and a call that can be pasted. */
function callIt(own) {
  const url = new URL(own, document.baseURI).href;
  const body = JSON.stringify({ threadId: "t1", runId: "r1", messages: [{ id: "1", role: "user", content: "Hello" }] });
  return h("div", { class: "stack" },
    h("div", { class: "field" }, h("span", { class: "label" }, "AG-UI client"), command(`new HttpAgent({ url: "${url}" })`, "Copy for @ag-ui/client")),
    h("div", { class: "field" }, h("span", { class: "label" }, "Terminal"), command(`curl -N ${url} -H 'content-type: application/json' -d '${body}'`, "Copy as curl")),
    h("div", { class: "field" }, h("span", { class: "label" }, "Its capabilities"), command(`curl ${url}/capabilities`, "Copy as curl")));
}

/** The same snapshot in other protocols' words, read when asked for. */
function views(own) {
  const tree = new Tree({ label: "The snapshot in other words" }), frame = h("div", { class: "view" });
  let shown = null;
  const buttons = Object.entries(VIEWS).map(([name, words]) => h("button", { type: "button", class: "segment", "aria-pressed": "false", on: { click: () => show(name) } }, words));
  async function show(name) {
    buttons.forEach((button, index) => button.setAttribute("aria-pressed", String(Object.keys(VIEWS)[index] === name)));
    try {
      shown = await getJson(`${own}/capabilities?view=${name}`);
      tree.update(shown);
      fill(frame, h("div", { class: "row" }, h("code", { class: "grow muted" }, `?view=${name}`), copyButton(() => JSON.stringify(shown, null, 2), "Copy the JSON")), tree.node);
    } catch (problem) {
      fill(frame, h("div", { class: "notice bad" }, problem.message));
    }
  }
  return h("div", { class: "stack" }, h("div", { class: "row" }, icon("info"), h("span", { class: "muted small" }, "The snapshot, as each of these protocols would say it.")), h("div", { class: "segments" }, buttons), frame);
}
