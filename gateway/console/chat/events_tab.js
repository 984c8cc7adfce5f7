// The run as it was sent: number, time, kind, and the bytes or the text of each event.

import { fill, h } from "../lib/dom.js";
import { hex } from "./protobuf.js";

/** Rows at once; older ones on demand. */
const PAGE = 200;
const BYTES_SHOWN = 4096;

export class EventsTab {
  constructor(session) {
    Object.assign(this, { session, limit: PAGE, seen: -1 });
    this.filter = h("input", { type: "search", placeholder: "Filter: TOOL_CALL, a word, #12", "aria-label": "Filter events", on: { input: () => { this.limit = PAGE; this.update(true); } } });
    this.format = h("select", { class: "pick", "aria-label": "Wire format of the next run", dataset: { testid: "wire-format" }, on: { change: () => (session.format.value = this.format.value) } },
      h("option", { value: "sse" }, "SSE"), session.capabilities.value.transport?.httpBinary && h("option", { value: "protobuf" }, "Protobuf"),
      session.capabilities.value.transport?.websocket && h("option", { value: "websocket" }, "WebSocket"));
    this.count = h("span", { class: "small muted" });
    this.rows = h("ol", { class: "events", dataset: { testid: "events" } });
    this.older = h("button", { class: "btn quiet", hidden: true, on: { click: () => { this.limit += PAGE; this.update(true); } } }, "Older ones");
    this.node = h("div", { class: "events-tab" }, h("div", { class: "row pad" }, this.filter, this.format), h("div", { class: "row pad thin" }, this.count, h("span", { class: "grow" }), this.older), this.rows);
  }

  update(anew = false) {
    const { journal } = this.session, all = journal.entries, total = all.length + journal.dropped;
    if (!anew && total === this.seen) return;
    const fresh = anew ? [] : all.slice(Math.max(0, all.length - (total - this.seen)));
    this.seen = total;
    const wanted = matcher(this.filter.value), found = anew ? last(all, wanted, this.limit) : fresh.filter(wanted).slice(-this.limit);
    const follows = anew || this.#near();
    if (anew) fill(this.rows, found.map(row));
    else this.rows.append(...found.map(row));
    while (this.rows.children.length > this.limit) this.rows.firstChild.remove();
    this.older.hidden = this.rows.children.length < this.limit;
    this.count.textContent = `${total.toLocaleString("en")} event${total === 1 ? "" : "s"}`;
    if (follows) this.rows.scrollTop = this.rows.scrollHeight;
  }

  #near() {
    const { scrollHeight, scrollTop, clientHeight } = this.rows;
    return scrollHeight - scrollTop - clientHeight < 200;
  }
}

function matcher(typed) {
  const words = typed.trim().toLowerCase();
  if (!words) return () => true;
  if (/^#\d+$/.test(words)) return ({ number }) => `#${number}` === words;
  return (entry) => textOf(entry).toLowerCase().includes(words);
}

/** From the end, so that a long run is not gone through whole for its last page. */
function last(all, wanted, limit) {
  const found = [];
  for (let index = all.length - 1; index >= 0 && found.length < limit; index -= 1) if (wanted(all[index])) found.push(all[index]);
  return found.reverse();
}

const textOf = (entry) => (entry.text ??= JSON.stringify(entry.event));
/** Of events that were there before the page was, nobody says when they came. */
const time = (at) => (Number.isFinite(at) ? new Date(at).toISOString().slice(11, 23) : "earlier");

function row(entry) {
  const { number, at, event } = entry;
  const details = h("details", { class: "event", dataset: { type: event.type } },
    h("summary", {}, h("span", { class: "seq mono" }, number), h("span", { class: "mono muted" }, time(at)), h("span", { class: "type mono" }, event.type), h("span", { class: "clip muted mono grow" }, gist(event))));
  details.addEventListener("toggle", () => details.append(whole(entry)), { once: true });
  return h("li", {}, details);
}

function gist(event) {
  const { delta, name, toolCallName, stepName, message, content, activityType, outcome } = event;
  const told = [delta, toolCallName, name, stepName, message, activityType, outcome?.type, content].find((one) => typeof one === "string");
  return told === undefined ? "" : JSON.stringify(told.slice(0, 120)).slice(1, -1);
}

/** As sent: the text of the frame, or its bytes and what they mean. */
function whole(entry) {
  const json = h("pre", {}, JSON.stringify(entry.event, null, 2));
  if (!entry.bytes) return json;
  const shown = entry.bytes.subarray(0, BYTES_SHOWN);
  return h("div", {}, h("pre", { class: "hex", dataset: { testid: "hex" } }, hex(shown), entry.bytes.length > shown.length && ` … ${entry.bytes.length} bytes`), json);
}
