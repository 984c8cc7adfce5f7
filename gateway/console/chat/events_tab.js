// The inspector tab with the events as received: number, time, type, and the text or bytes of each event.

import { fill, h } from "../lib/dom.js";
import { toHex } from "./protobuf.js";

/** Rows shown at once; the user can load older ones. */
const PAGE_ROWS = 200;
const MAX_SHOWN_BYTES = 4096;
const END_TOLERANCE_PX = 200;

export class EventsTab {
  constructor(session) {
    Object.assign(this, { session, limit: PAGE_ROWS, seen: -1 });
    this.filter = h("input", { type: "search", placeholder: "Filter by type, text or #number", "aria-label": "Filter events",
      on: { input: () => { this.limit = PAGE_ROWS; this.update(true); } } });
    this.format = h("select", { class: "pick", "aria-label": "Wire format of the next run", dataset: { testid: "wire-format" },
      on: { change: () => (session.format.value = this.format.value) } },
      h("option", { value: "sse" }, "SSE"), session.capabilities.value.transport?.httpBinary && h("option", { value: "protobuf" }, "Protobuf"),
      session.capabilities.value.transport?.websocket && h("option", { value: "websocket" }, "WebSocket"));
    this.count = h("span", { class: "small muted" });
    this.rows = h("ol", { class: "events", dataset: { testid: "events" } });
    this.older = h("button", { class: "btn quiet", hidden: true, on: { click: () => { this.limit += PAGE_ROWS; this.update(true); } } }, "Show older");
    this.node = h("div", { class: "events-tab" }, h("div", { class: "row pad" }, this.filter, this.format),
      h("div", { class: "row pad thin" }, this.count, h("span", { class: "grow" }), this.older), this.rows);
  }

  update(redraw = false) {
    const { eventLog } = this.session, all = eventLog.entries, total = all.length + eventLog.dropped;
    if (!redraw && total === this.seen) return;
    const fresh = redraw ? [] : all.slice(Math.max(0, all.length - (total - this.seen)));
    this.seen = total;
    const matches = createMatcher(this.filter.value);
    const entries = redraw ? lastMatching(all, matches, this.limit) : fresh.filter(matches).slice(-this.limit);
    const atEnd = redraw || this.#isNearEnd();
    if (redraw) fill(this.rows, entries.map(buildRow));
    else this.rows.append(...entries.map(buildRow));
    while (this.rows.children.length > this.limit) this.rows.firstChild.remove();
    this.older.hidden = this.rows.children.length < this.limit;
    this.count.textContent = `${total.toLocaleString("en")} event${total === 1 ? "" : "s"}`;
    if (atEnd) this.rows.scrollTop = this.rows.scrollHeight;
  }

  #isNearEnd() {
    const { scrollHeight, scrollTop, clientHeight } = this.rows;
    return scrollHeight - scrollTop - clientHeight < END_TOLERANCE_PX;
  }
}

function createMatcher(typed) {
  const query = typed.trim().toLowerCase();
  if (!query) return () => true;
  if (/^#\d+$/.test(query)) return ({ number }) => `#${number}` === query;
  return (entry) => textOf(entry).toLowerCase().includes(query);
}

/** Searches from the end, so that the last page of a long run does not cost the whole run. */
function lastMatching(all, matches, limit) {
  const entries = [];
  for (let index = all.length - 1; index >= 0 && entries.length < limit; index -= 1) if (matches(all[index])) entries.push(all[index]);
  return entries.reverse();
}

const textOf = (entry) => (entry.text ??= JSON.stringify(entry.event));
/** Events from before the page was opened have no arrival time. */
const formatArrival = (at) => (Number.isFinite(at) ? new Date(at).toISOString().slice(11, 23) : "earlier");

function buildRow(entry) {
  const { number, at, event } = entry;
  const details = h("details", { class: "event", dataset: { type: event.type } },
    h("summary", {}, h("span", { class: "seq mono" }, number), h("span", { class: "mono muted" }, formatArrival(at)),
      h("span", { class: "type mono" }, event.type), h("span", { class: "clip muted mono grow" }, eventSummary(event))));
  details.addEventListener("toggle", () => details.append(fullView(entry)), { once: true });
  return h("li", {}, details);
}

function eventSummary(event) {
  const { delta, name, toolCallName, stepName, message, content, activityType, outcome } = event;
  const text = [delta, toolCallName, name, stepName, message, activityType, outcome?.type, content].find((value) => typeof value === "string");
  return text === undefined ? "" : JSON.stringify(text.slice(0, 120)).slice(1, -1);
}

/** The event as JSON; for protobuf with its bytes. */
function fullView(entry) {
  const json = h("pre", {}, JSON.stringify(entry.event, null, 2));
  if (!entry.bytes) return json;
  const shown = entry.bytes.subarray(0, MAX_SHOWN_BYTES);
  return h("div", {}, h("pre", { class: "hex", dataset: { testid: "hex" } }, toHex(shown),
    entry.bytes.length > shown.length && ` … ${entry.bytes.length} bytes`), json);
}
