// The inspector tab with the requests of this page as `curl` commands.

import { encodePath, token } from "../lib/api.js";
import { fill, h } from "../lib/dom.js";
import { copyButton } from "../render/copy.js";
import { toCurl } from "./curl.js";
import { PROTOBUF } from "./protobuf.js";

export class RequestsTab {
  constructor(session) {
    this.session = session;
    this.node = h("div", { class: "pad stack", dataset: { testid: "requests" } });
  }

  update() {
    const { session } = this, { eventLog } = session, key = JSON.stringify([eventLog.input?.runId, session.format.value, session.capabilities.value.identity]);
    if (key === this.drawn) return;
    this.drawn = key;
    const absolute = (path) => new URL(path, document.baseURI).href, protobuf = session.format.value === "protobuf";
    const input = eventLog.input ?? session.input([{ id: "1", role: "user", content: "Hello" }]), thread = encodePath(session.thread),
      common = { token: Boolean(token.value) };
    fill(this.node,
      requestView(eventLog.input ? "The last run" : "A new run",
        toCurl(absolute(session.path), { ...common, body: input, accept: protobuf ? PROTOBUF : "text/event-stream" })),
      requestView("Replay the run from an event number",
        toCurl(absolute(`${encodePath("runs", input.runId)}/events?after=0`), { ...common, accept: "text/event-stream" })),
      requestView("The snapshot of this session with sources", toCurl(absolute(`${session.path}/capabilities?thread=${thread}&explain=1`), common)),
      requestView("Live changes of the snapshot",
        toCurl(absolute(`${session.path}/capabilities?thread=${thread}`), { ...common, accept: "text/event-stream" }).replace("curl ", "curl -N ")),
      requestView("This thread", toCurl(absolute(session.threadPath), common)));
  }
}

function requestView(title, text) {
  return h("section", { class: "stack tight" },
    h("div", { class: "row" }, h("h3", { class: "grow" }, title), copyButton(text, `Copy “${title}”`, { caption: "Copy" })),
    h("pre", { class: "curl", tabIndex: 0, "aria-label": title }, text));
}
