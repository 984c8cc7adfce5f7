// AG-UI events → what a reader sees: items, in the order in which they came.
//
// In: a thread's messages, then events in their order. Out: `items`, `state`, `interrupts`, `pending`. Pure: no DOM, no
// network. A delta costs an append and a note in `changed`; whoever shows the items looks there once a frame. An event
// of any shape is read or passed over, never an exception: what comes from an agent is data.

import { custom } from "./custom_events.js";
import { patched } from "./json_patch.js";

const text = (value) => (typeof value === "string" ? value : "");
const object = (value) => (typeof value === "object" && value !== null && !Array.isArray(value) ? value : {});
const list = (value) => (Array.isArray(value) ? value : []);

export class Model {
  items = [];
  /** Items with news since somebody last looked. */
  changed = new Set();
  /** Another number means that items are gone or in another order: show them all anew. */
  epoch = 0;
  state = undefined;
  /** Questions that wait for the reader. */
  interrupts = [];
  /** Ids of tool calls that wait for the page. */
  pending = [];
  /** The run under way or last seen: its item. */
  run = null;
  live = false;
  /** What is told now happened before the page was opened. */
  past = false;
  /** Ids of messages and calls that came whole, and not by events. */
  whole = new Set();
  #known = new Map();
  #chunks = new Map();

  /** What a thread holds, as `GET …/threads/{t}` tells it. */
  load(messages, state) {
    this.items = [];
    this.#known.clear();
    this.#chunks.clear();
    this.changed.clear();
    this.epoch += 1;
    for (const message of list(messages)) this.message(message);
    if (state !== undefined) this.state = state;
  }

  /** One whole message, of any role. */
  message(given) {
    const message = object(given), { id, role } = message, lane = this.#lane(message.subagentRunId);
    if (role === "tool") return this.#result(message);
    if (role === "activity") return this.activity(message, message.activityType, object(message.content));
    if (role === "reasoning") return this.#whole("reasoning", id, lane, { text: text(message.content), encrypted: Boolean(message.encryptedValue) });
    if (!(role === "assistant" && !text(message.content))) {
      this.#whole("message", id, lane, { role, name: message.name, ...content(message.content), metadata: object(message.metadata) });
    }
    for (const call of list(message.toolCalls)) this.#wholeCall(object(call), lane);
  }

  #whole(kind, id, lane, fields) {
    const item = this.item(kind, id, { lane });
    Object.assign(item, fields, { open: false });
    this.note(item);
  }

  #wholeCall(call, lane) {
    const item = this.item("tool", call.id, { lane, name: text(object(call.function).name), args: "", meta: {}, outputs: [] });
    Object.assign(item, { args: text(object(call.function).arguments), open: false });
    this.#meta(item, call.metadata);
    this.note(item);
  }

  feed(event) {
    const handler = Object.hasOwn(HANDLERS, object(event).type) ? HANDLERS[event.type] : undefined;
    handler?.call(this, event);
  }

  /** The item of this kind and id; made if there is none. */
  item(kind, id, fields = {}) {
    const key = `${kind}:${id}`;
    let item = this.#known.get(key);
    if (!item) {
      item = { key, kind, id: String(id), open: true, ...fields };
      this.#known.set(key, item);
      if (!item.inside) this.items.push(item);
      this.note(item);
    }
    return item;
  }

  find(kind, id) {
    return this.#known.get(`${kind}:${id}`);
  }

  note(item) {
    this.changed.add(item.inside ?? item);
  }

  #count = 0;
  notice(level, words, more = {}) {
    const said = more.failed ? this.items.findLast((item) => item.kind === "message" && item.role === "user")?.text : undefined;
    this.item("notice", (this.#count += 1), { level, words, open: false, past: this.past, said, ...more });
  }

  /** Attribution without an announcement is legal: then the lane has no other name. */
  #lane(id) {
    if (typeof id !== "string") return undefined;
    if (!this.find("subagent", id)) this.item("subagent", id, { name: "helper", state: "unknown", open: false });
    return id;
  }

  // -- words

  words(kind, event, fields) {
    const item = this.item(kind, event.messageId, { text: "", lane: this.#lane(event.subagentRunId), ...fields });
    this.#merge(item, event.metadata);
    return item;
  }

  append(kind, event, fields) {
    const item = this.words(kind, event, fields);
    if (item.parts || item.mine) return; // the reader's own words are here already
    item.text += text(event.delta);
    this.note(item);
  }

  close(kind, id) {
    const item = this.find(kind, id);
    if (item?.open) {
      item.open = false;
      this.note(item);
    }
  }

  #merge(item, metadata) {
    if (metadata) item.metadata = { ...item.metadata, ...object(metadata) };
  }

  /** Chunks that name no id go on with the last of their kind and lane. */
  chunk(kind, event, id) {
    const place = `${kind} ${event.subagentRunId ?? ""}`;
    if (id !== undefined) this.#chunks.set(place, id);
    return id ?? this.#chunks.get(place);
  }

  // -- tools

  call(event) {
    const item = this.item("tool", event.toolCallId, { name: text(event.toolCallName), args: "", meta: {}, outputs: [], lane: this.#lane(event.subagentRunId) });
    if (event.type === "TOOL_CALL_START") item.open = true;
    if (!item.name) item.name = text(event.toolCallName);
    this.#meta(item, event.metadata);
    this.note(item);
    return item;
  }

  #meta(item, metadata) {
    for (const [vendor, told] of Object.entries(object(metadata))) {
      item.meta = { ...item.meta, [vendor]: typeof told === "object" && told ? { ...object(item.meta[vendor]), ...told } : told };
    }
  }

  #result(message) {
    const item = this.call({ ...message, type: "", toolCallName: "tool" });
    Object.assign(item, { open: false, result: message.content ?? "", error: message.error });
    this.pending = this.pending.filter((id) => id !== item.id);
    this.note(item);
  }

  result(event) {
    this.#result({ toolCallId: event.toolCallId, content: event.content, subagentRunId: event.subagentRunId, metadata: event.metadata });
  }

  // -- activities

  /** Output that belongs to a tool call is shown there. */
  activity(event, activityType, given) {
    const id = event.messageId ?? event.id, host = this.find("tool", given.toolCallId), before = this.find("activity", id);
    if (before && event.replace === false) return;
    const inside = host && (activityType === "terminal" || activityType === "tool_output") ? host : undefined;
    const item = before ?? this.item("activity", id, { inside, lane: this.#lane(event.subagentRunId) });
    if (inside && !before) inside.outputs.push(item);
    Object.assign(item, { activityType: text(activityType), content: given, open: false });
    this.note(item);
  }

  activityPatch(event) {
    const item = this.find("activity", event.messageId);
    if (!item) return;
    // Printed lines come by the thousand: they are appended in place, a copy for each would be a copy of all.
    if (appends(event.patch) && Array.isArray(item.content.output)) {
      for (const { value } of event.patch) item.content.output.push(text(value));
    } else {
      const next = patched(item.content, event.patch);
      if (next === undefined) return;
      item.content = object(next);
    }
    this.note(item);
  }

  // -- state

  setState(next) {
    if (next === undefined) return;
    this.state = next;
    const item = this.item("state", this.run?.id ?? "", { open: false });
    item.value = next;
    this.note(item);
  }

  // -- runs

  begin(event) {
    for (const message of list(object(event.input).messages)) if (!this.find("message", message?.id)) this.message(message);
    Object.assign(this, { live: true, pending: [], run: { id: text(event.runId), cost: undefined } });
    this.#unanswered();
  }

  /** How a call stands is also a matter of the run: whether one is live, whether it asks. */
  #unanswered() {
    for (const item of this.items) if (item.kind === "tool" && item.result === undefined) this.note(item);
  }

  end(fields, usage) {
    this.live = false;
    for (const item of this.items) if (item.open) this.close(item.kind, item.id);
    this.#unanswered();
    const run = this.run ?? { id: "" };
    const item = this.item("run", run.id, {});
    Object.assign(item, { open: false, usage: list(usage), cost: run.cost, ...fields });
    this.note(item);
  }

  snapshot(messages) {
    const keep = new Set(), told = list(messages).map(object), roles = new Set(told.map((message) => message.role));
    for (const message of told) {
      keep.add(`message:${message.id}`).add(`reasoning:${message.id}`).add(`activity:${message.id}`);
      for (const call of list(message.toolCalls)) keep.add(`tool:${call?.id}`);
      if (message.role === "tool") keep.add(`tool:${message.toolCallId}`);
    }
    const dropped = (item) => !keep.has(item.key) && (item.kind === "message" || item.kind === "tool" || (item.kind === "reasoning" && roles.has("reasoning")));
    if (this.items.some(dropped)) {
      for (const item of this.items.filter(dropped)) this.#known.delete(item.key);
      this.items = this.items.filter((item) => !dropped(item));
      this.epoch += 1;
    }
    for (const message of told) this.message(message);
  }
}

function content(given) {
  return Array.isArray(given) ? { parts: given, text: given.map((part) => text(part?.text)).join("\n").trim() } : { text: text(given) };
}

const appends = (patch) => Array.isArray(patch) && patch.length > 0 && patch.every((one) => one?.op === "add" && one.path === "/output/-");

/** @type {Record<string, (this: Model, event: any) => void>} */
const HANDLERS = {
  RUN_STARTED(event) { this.begin(event); },
  RUN_FINISHED(event) {
    const outcome = object(event.outcome);
    this.interrupts = outcome.type === "interrupt" ? list(outcome.interrupts).filter((one) => typeof one?.id === "string") : [];
    this.pending = list(outcome.pendingToolCallIds);
    this.end({ outcome: outcome.type ?? "success", stopReason: object(event.result).stopReason }, event.usage);
  },
  RUN_ERROR(event) {
    this.end({ outcome: "error" }, event.usage);
    this.notice("bad", text(event.message) || "The run failed.", { code: event.code, failed: true });
  },
  TEXT_MESSAGE_START(event) { Object.assign(this.words("message", event, {}), { role: event.role ?? "assistant", name: event.name, open: true }); },
  TEXT_MESSAGE_CONTENT(event) { this.append("message", event, { role: "assistant" }); },
  TEXT_MESSAGE_END(event) { this.close("message", event.messageId); },
  TEXT_MESSAGE_CHUNK(event) {
    const messageId = this.chunk("message", event, event.messageId);
    if (messageId !== undefined) this.append("message", { ...event, messageId }, { role: event.role ?? "assistant" });
  },
  REASONING_MESSAGE_START(event) { this.words("reasoning", event).open = true; },
  REASONING_MESSAGE_CONTENT(event) { this.append("reasoning", event); },
  REASONING_MESSAGE_END(event) { this.close("reasoning", event.messageId); },
  REASONING_MESSAGE_CHUNK(event) {
    const messageId = this.chunk("reasoning", event, event.messageId);
    if (messageId !== undefined) this.append("reasoning", { ...event, messageId });
  },
  REASONING_ENCRYPTED_VALUE(event) {
    const item = this.find("reasoning", event.entityId);
    if (item) { item.encrypted = true; this.note(item); }
  },
  TOOL_CALL_START(event) { this.call(event); },
  TOOL_CALL_ARGS(event) { this.call(event).args += text(event.delta); },
  TOOL_CALL_END(event) { this.call(event); this.close("tool", event.toolCallId); },
  TOOL_CALL_CHUNK(event) {
    const toolCallId = this.chunk("tool", event, event.toolCallId);
    if (toolCallId !== undefined) this.call({ ...event, toolCallId }).args += text(event.delta);
  },
  TOOL_CALL_RESULT(event) { this.result(event); },
  ACTIVITY_SNAPSHOT(event) { this.activity(event, event.activityType, object(event.content)); },
  ACTIVITY_DELTA(event) { this.activityPatch(event); },
  STATE_SNAPSHOT(event) { this.setState(event.snapshot ?? null); },
  STATE_DELTA(event) { this.setState(patched(this.state ?? {}, event.delta)); },
  MESSAGES_SNAPSHOT(event) { this.snapshot(event.messages); },
  SUBAGENT_STARTED(event) {
    const item = this.item("subagent", event.subagentRunId, {});
    Object.assign(item, { name: text(event.name) || "helper", description: text(event.description), lane: event.subagentRunId === event.parentSubagentRunId ? undefined : event.parentSubagentRunId, state: "running", open: true });
    this.note(item);
  },
  SUBAGENT_FINISHED(event) {
    const item = this.item("subagent", event.subagentRunId, { name: "helper" });
    Object.assign(item, { state: object(event.outcome).type === "suspended" ? "waiting" : "done", result: event.result, open: false });
    this.note(item);
  },
  SUBAGENT_ERROR(event) {
    const item = this.item("subagent", event.subagentRunId, { name: "helper" });
    Object.assign(item, { state: "failed", words: text(event.message), open: false });
    this.note(item);
  },
  STEP_STARTED(event) { this.item("step", `${this.run?.id}:${event.subagentRunId ?? ""}:${event.stepName}`, { name: text(event.stepName), lane: event.subagentRunId }); },
  STEP_FINISHED(event) { this.close("step", `${this.run?.id}:${event.subagentRunId ?? ""}:${event.stepName}`); },
  CUSTOM(event) { custom(this, text(event.name), event.value, event.subagentRunId); },
};
