// What this page asks of the gateway, to be repeated in a terminal.

import { at, token } from "../lib/api.js";
import { fill, h } from "../lib/dom.js";
import { copyButton } from "../render/copy.js";
import { curl } from "./curl.js";
import { PROTOBUF } from "./protobuf.js";

export class RequestsTab {
  constructor(session) {
    this.session = session;
    this.node = h("div", { class: "pad stack", dataset: { testid: "requests" } });
  }

  update() {
    const { session } = this, { journal } = session, now = JSON.stringify([journal.input?.runId, session.format.value, session.capabilities.value.identity]);
    if (now === this.seen) return;
    this.seen = now;
    const here = (path) => new URL(path, document.baseURI).href, protobuf = session.format.value === "protobuf";
    const input = journal.input ?? session.input([{ id: "1", role: "user", content: "Hello" }]), thread = at(session.thread), common = { token: Boolean(token.value) };
    fill(this.node,
      request(journal.input ? "The last run" : "A run", curl(here(session.path), { ...common, body: input, accept: protobuf ? PROTOBUF : "text/event-stream" })),
      request("The run again, from any event on", curl(here(`${at("runs", input.runId)}/events?after=0`), { ...common, accept: "text/event-stream" })),
      request("The snapshot of this session, explained", curl(here(`${session.path}/capabilities?thread=${thread}&explain=1`), common)),
      request("Every change of it, live", curl(here(`${session.path}/capabilities?thread=${thread}`), { ...common, accept: "text/event-stream" }).replace("curl ", "curl -N ")),
      request("This thread", curl(here(session.threadPath), common)));
  }
}

function request(title, text) {
  return h("section", { class: "stack tight" }, h("div", { class: "row" }, h("h3", { class: "grow" }, title), copyButton(text, `Copy “${title}”`, { words: "Copy" })), h("pre", { class: "curl", tabIndex: 0, "aria-label": title }, text));
}
