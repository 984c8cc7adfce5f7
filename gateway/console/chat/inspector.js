// The inspector beside the conversation: events, snapshot with sources, tools, state, changes in the thread's worktree, and requests
// as `curl`. Its tabs are drawn only while it is open.

import { encodePath, getJson } from "../lib/api.js";
import { fill, h, icon } from "../lib/dom.js";
import { capabilityTree } from "../render/capability.js";
import { Tree } from "../render/tree.js";
import { EventsTab } from "./events_tab.js";
import { RequestsTab } from "./requests_tab.js";
import { toolsTab } from "./tools_tab.js";
import { WorktreeTab } from "./worktree_tab.js";

export class Inspector {
  constructor(session, close) {
    this.session = session;
    this.tabs = [
      { id: "events", name: "Events", tab: new EventsTab(session) },
      { id: "snapshot", name: "Snapshot", tab: snapshotTab(session) },
      { id: "tools", name: "Tools", tab: toolsTab(session) },
      { id: "state", name: "State", tab: stateTab(session) },
      { id: "changes", name: "Changes", tab: new WorktreeTab(session) },
      { id: "requests", name: "curl", tab: new RequestsTab(session) },
    ];
    this.bar = h("div", { class: "tabs", role: "tablist", "aria-label": "Inspector", on: { keydown: (event) => this.#onKey(event) } });
    this.body = h("div", { class: "tab-body", role: "tabpanel", id: "inspector-panel", tabIndex: -1 });
    this.node = h("section", { class: "inspector", "aria-label": "Inspector", hidden: true, dataset: { testid: "inspector" } },
      h("div", { class: "row head" }, this.bar, h("span", { class: "grow" }),
        h("button", { class: "btn quiet only", "aria-label": "Close the inspector", on: { click: close } }, icon("close"))), this.body);
    this.current = this.tabs[0];
  }

  show(id = this.current.id) {
    this.current = this.tabs.find((tab) => tab.id === id) ?? this.tabs[0];
    fill(this.bar, this.tabs.map((tab) => h("button", {
      class: "tab", role: "tab", id: `tab-${tab.id}`, type: "button", "aria-selected": tab === this.current ? "true" : "false",
        tabIndex: tab === this.current ? 0 : -1, "aria-controls": "inspector-panel",
      on: { click: () => this.show(tab.id) },
    }, tab.name)));
    this.body.setAttribute("aria-labelledby", `tab-${this.current.id}`);
    fill(this.body, this.current.tab.node);
    this.update(true);
  }

  #onKey(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = (this.tabs.indexOf(this.current) + step + this.tabs.length) % this.tabs.length;
    this.show(this.tabs[next].id);
    this.bar.children[next].focus();
  }

  /** Called after every frame with new events. */
  update(opened = false) {
    if (!this.node.hidden) this.current.tab.update(opened);
  }
}

function stateTab(session) {
  const tree = new Tree({ label: "Shared state" }), empty = h("p", { class: "empty" }, "This thread has no shared state.");
  const node = h("div", { class: "pad" });
  let isShown;
  return {
    node,
    update() {
      const { state } = session.model, isEmpty = state === undefined || (typeof state === "object" && state !== null && !Object.keys(state).length);
      if (isShown !== !isEmpty) { isShown = !isEmpty; fill(node, isEmpty ? empty : tree.node); }
      if (!isEmpty) tree.update(state);
    },
  };
}

/** Loads the explained snapshot after a change. Redraws only for a new version, so that open rows stay open. */
function snapshotTab(session) {
  const node = h("div", { class: "pad" });
  let seen, shownVersion;
  return {
    node,
    async update() {
      if (seen === session.capabilities.value) return;
      seen = session.capabilities.value;
      try {
        const snapshot = await getJson(`${session.path}/capabilities?thread=${encodePath(session.thread)}&explain=1`, { signal: session.abort });
        if (snapshot.version !== shownVersion) fill(node, capabilityTree(snapshot.capabilities, snapshot.explain));
        shownVersion = snapshot.version;
      } catch (problem) {
        if (!session.abort.aborted) fill(node, h("div", { class: "notice bad" }, problem.message));
      }
    },
  };
}
