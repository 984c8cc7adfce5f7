// Behind the conversation: every event as it was sent, the requests as `curl`, the snapshot with who said each part of it,
// the tools, the state. Drawn only while it is open.

import { getJson } from "../lib/api.js";
import { at } from "../lib/api.js";
import { fill, h, icon } from "../lib/dom.js";
import { capabilityTree } from "../render/capability.js";
import { Tree } from "../render/tree.js";
import { EventsTab } from "./events_tab.js";
import { RequestsTab } from "./requests_tab.js";
import { toolsTab } from "./tools_tab.js";

export class Inspector {
  constructor(session, close) {
    this.session = session;
    this.tabs = [
      { id: "events", name: "Events", tab: new EventsTab(session) },
      { id: "snapshot", name: "Snapshot", tab: snapshotTab(session) },
      { id: "tools", name: "Tools", tab: toolsTab(session) },
      { id: "state", name: "State", tab: stateTab(session) },
      { id: "requests", name: "curl", tab: new RequestsTab(session) },
    ];
    this.bar = h("div", { class: "tabs", role: "tablist", "aria-label": "Inspector", on: { keydown: (event) => this.#pressed(event) } });
    this.body = h("div", { class: "tab-body", role: "tabpanel", id: "inspector-panel", tabIndex: -1 });
    this.node = h("section", { class: "inspector", "aria-label": "Inspector", hidden: true, dataset: { testid: "inspector" } },
      h("div", { class: "row head" }, this.bar, h("span", { class: "grow" }), h("button", { class: "btn quiet only", "aria-label": "Close the inspector", on: { click: close } }, icon("close"))), this.body);
    this.current = this.tabs[0];
  }

  show(id = this.current.id) {
    this.current = this.tabs.find((tab) => tab.id === id) ?? this.tabs[0];
    fill(this.bar, this.tabs.map((tab) => h("button", {
      class: "tab", role: "tab", id: `tab-${tab.id}`, type: "button", "aria-selected": tab === this.current ? "true" : "false", tabIndex: tab === this.current ? 0 : -1, "aria-controls": "inspector-panel",
      on: { click: () => this.show(tab.id) },
    }, tab.name)));
    this.body.setAttribute("aria-labelledby", `tab-${this.current.id}`);
    fill(this.body, this.current.tab.node);
    this.update(true);
  }

  #pressed(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = (this.tabs.indexOf(this.current) + step + this.tabs.length) % this.tabs.length;
    this.show(this.tabs[next].id);
    this.bar.children[next].focus();
  }

  /** With every frame that has news. */
  update(opened = false) {
    if (!this.node.hidden) this.current.tab.update(opened);
  }
}

function stateTab(session) {
  const tree = new Tree({ label: "Shared state" }), empty = h("p", { class: "empty" }, "No state is shared in this thread.");
  const node = h("div", { class: "pad" });
  let shown;
  return {
    node,
    update() {
      const { state } = session.model, none = state === undefined || (typeof state === "object" && state !== null && !Object.keys(state).length);
      if (shown !== !none) { shown = !none; fill(node, none ? empty : tree.node); }
      if (!none) tree.update(state);
    },
  };
}

/** Asked for again when the feed told of a change; open rows are kept by drawing only then. */
function snapshotTab(session) {
  const node = h("div", { class: "pad" });
  let seen, version;
  return {
    node,
    async update() {
      if (seen === session.capabilities.value) return;
      seen = session.capabilities.value;
      try {
        const told = await getJson(`${session.path}/capabilities?thread=${at(session.thread)}&explain=1`, { signal: session.abort });
        if (told.version !== version) fill(node, capabilityTree(told.capabilities, told.explain));
        version = told.version;
      } catch (problem) {
        if (!session.abort.aborted) fill(node, h("div", { class: "notice bad" }, problem.message));
      }
    },
  };
}
