// The page of one agent: availability, capabilities with live updates, models, threads, and how to connect.

import { encodePath, followEvents, getJson } from "../lib/api.js";
import { fill, h, icon } from "../lib/dom.js";
import { CapabilityTree, formatTime } from "../render/capability.js";
import { copyButton } from "../render/copy.js";
import { inlineNodes } from "../render/markdown.js";
import { safeLink } from "../render/url_policy.js";
import { Tree } from "../render/tree.js";
import { modelsTable } from "./models.js";
import { optionsTable } from "./options_table.js";
import { transportsList } from "./transports.js";
import { chatLink, commandLine, describeAgent, pollWhileVisible, remedyView, statusTag } from "./agent_parts.js";

const FORMATS = { agui: "AG-UI", acp: "ACP", mux: "agent-mux", relay: "agent-relay" };
const POLL_MS = 10_000;

export async function agentPage({ agent: id }, _, { abort }) {
  const path = `agents/${encodePath(id)}`;
  const page = new AgentPage(id, path, abort);
  await page.loadAgent();
  await Promise.all([page.loadCapabilities(), page.loadModels(), page.loadThreads()]);
  followEvents(`${path}/capabilities`, () => page.loadCapabilities().catch(() => {}), abort, (state, problem) => page.showConnection(state, problem));
  const poll = async () => {
    await page.loadAgent();
    await page.loadThreads();
  };
  pollWhileVisible(poll, POLL_MS, abort, (problem) => page.showConnection(problem ? "lost" : "open", problem));
  return page.node;
}

class AgentPage {
  #tree = new CapabilityTree();
  #lastAgent = "";
  #requestCount = 0;

  constructor(id, path, abort) {
    Object.assign(this, { id, path, abort });
    this.head = h("header", { class: "stack agent-head" });
    this.connection = h("span", { class: "tag", role: "status" });
    this.threadList = h("div");
    this.modelList = h("div");
    this.options = h("div");
    this.transports = h("div");
    this.transportSection = section("Ways to reach it", this.transports);
    this.transportSection.hidden = true;
    this.node = h("div", { class: "page stack" }, this.head,
      h("div", { class: "agent-grid" },
        h("div", { class: "stack" }, section("Capabilities", this.#tree.node,
          { aside: this.connection, note: "Open a row to see the source of a value, when it was set, and which values it overrides." })),
        h("div", { class: "stack" }, this.transportSection, section("Options of a run", this.options), section("Connect", connectionExamples(path)),
          section("Models", this.modelList),
          section("Threads", this.threadList), section("Other formats", formatViewer(path)))));
  }

  get(path) { return getJson(path, { signal: this.abort }); }

  async loadAgent() {
    const agent = await this.get(this.path), json = JSON.stringify(agent);
    if (json === this.#lastAgent) return;
    this.#lastAgent = json;
    const { identity, availability } = agent, ready = availability.status === "ready", link = documentationLink(identity.documentationUrl);
    fill(this.head,
      h("nav", { class: "small", "aria-label": "Breadcrumb" }, h("a", { href: "#/" }, "Agents"), " / ", h("span", { class: "mono" }, this.id)),
      h("div", { class: "row wrap" }, h("h1", {}, identity.name ?? this.id), statusTag(availability), h("span", { class: "grow" }),
        h("a", { class: "btn", href: `#/compare?a=${encodeURIComponent(this.id)}` }, "Compare"), chatLink(this.id, { primary: ready })),
      h("p", { class: "muted" }, [describeAgent(agent), link && [" · ", link]]),
        identity.description && h("p", { class: "md" }, inlineNodes(identity.description)),
      agent.definition && h("div", { class: "notice warn" },
        `The agent's file has had an error since ${formatTime(agent.definition.since)}. `,
        `The gateway uses the last valid version. ${agent.definition.error}`),
      remedyView(availability));
    const transports = transportsList(agent.transports);
    this.transportSection.hidden = transports === null;
    fill(this.transports, transports);
  }

  /** Loads the snapshot with its sources. Where requests overlap, only the answer to the newest one is shown. */
  async loadCapabilities() {
    const request = ++this.#requestCount, snapshot = await this.get(`${this.path}/capabilities?explain=1`);
    if (request !== this.#requestCount) return;
    this.#tree.update(snapshot.capabilities, snapshot.explain);
    fill(this.options, optionsTable(snapshot.capabilities, snapshot.explain));
  }

  showConnection(state, problem) {
    this.connection.className = `tag ${state === "open" ? "good" : "warn"}`;
    fill(this.connection, h("span", { class: "dot" }), state === "open" ? "live" : state === "refused" ? problem.message : "gateway unreachable");
  }

  async loadModels() {
    fill(this.modelList, modelsTable(await this.get(`${this.path}/models`)));
  }

  async loadThreads() {
    const { threads } = await this.get(`${this.path}/threads`);
    const row = (thread) => h("li", {}, h("a", { class: "thread", href: `#/agents/${encodeURIComponent(this.id)}/chat/${encodeURIComponent(thread.threadId)}` },
      h("span", { class: `clip grow ${thread.title ? "" : "mono"}`, title: thread.threadId }, thread.title || thread.threadId),
        statusLabel(thread.status), h("span", { class: "muted small" }, formatTime(new Date(thread.updated * 1000).toISOString()))));
    fill(this.threadList, threads.length ? h("ul", { class: "threads" }, threads.slice(0, 50).map(row))
      : h("p", { class: "muted small" }, "This agent has no threads yet."));
  }
}

/** Only a blocked or waiting thread is highlighted: the user has to act there. */
function statusLabel(status) {
  if (status === "running") return h("span", { class: "tag" }, "running");
  return (status === "blocked" || status === "waiting") && h("span", { class: "tag warn" }, "waiting for you");
}

function documentationLink(address) {
  const href = safeLink(address);
  return href ? h("a", { href, target: "_blank", rel: "noopener noreferrer" }, "Documentation") : null;
}

function section(title, body, { aside, note } = {}) {
  return h("section", { class: "card stack" }, h("div", { class: "row" }, h("h2", { class: "grow" }, title), aside),
    note && h("p", { class: "muted small" }, note), body);
}

/** Code to copy for an AG-UI client and for a terminal. */
function connectionExamples(path) {
  const url = new URL(path, document.baseURI).href;
  const body = JSON.stringify({ threadId: "t1", runId: "r1", messages: [{ id: "1", role: "user", content: "Hello" }] });
  return h("div", { class: "stack" },
    h("div", { class: "field" }, h("span", { class: "label" }, "AG-UI client"), commandLine(`new HttpAgent({ url: "${url}" })`, "Copy for @ag-ui/client")),
    h("div", { class: "field" }, h("span", { class: "label" }, "Terminal"),
      commandLine(`curl -N ${url} -H 'content-type: application/json' -d '${body}'`, "Copy as curl")),
    h("div", { class: "field" }, h("span", { class: "label" }, "Capabilities"), commandLine(`curl ${url}/capabilities`, "Copy as curl")));
}

/** The snapshot in the formats of other protocols. Each is loaded when the user selects it. */
function formatViewer(path) {
  const tree = new Tree({ label: "The snapshot in the selected format" }), frame = h("div", { class: "view" });
  let snapshot = null;
  const buttons = Object.entries(FORMATS).map(([name, label]) => h("button",
    { type: "button", class: "segment", "aria-pressed": "false", on: { click: () => show(name) } }, label));
  async function show(name) {
    buttons.forEach((button, index) => button.setAttribute("aria-pressed", String(Object.keys(FORMATS)[index] === name)));
    try {
      snapshot = await getJson(`${path}/capabilities?view=${name}`);
      tree.update(snapshot);
      fill(frame, h("div", { class: "row" }, h("code", { class: "grow muted" }, `?view=${name}`),
        copyButton(() => JSON.stringify(snapshot, null, 2), "Copy the JSON")), tree.node);
    } catch (problem) {
      fill(frame, h("div", { class: "notice bad" }, problem.message));
    }
  }
  return h("div", { class: "stack" }, h("div", { class: "row" }, icon("info"),
    h("span", { class: "muted small" }, "Shows the same snapshot in the format of another protocol.")), h("div", { class: "segments" }, buttons), frame);
}
