// The chat model: AG-UI events in, items in order of arrival out.
//
// In: the messages of a thread, then its events in order. Out: `items`, `state`, `interrupts`, `pending`. Pure: no DOM, no
// network. A delta costs one append and one entry in `changed`, which the view reads once per frame. Malformed events are
// ignored and never cause an exception, because agents are not trusted.

import { handleCustomEvent } from "./custom_events.js";
import { applyPatch } from "./json_patch.js";

const text = (value) => (typeof value === "string" ? value : "");
const object = (value) => (typeof value === "object" && value !== null && !Array.isArray(value) ? value : {});
const list = (value) => (Array.isArray(value) ? value : []);

export class Model {
  items = [];
  /** Items that changed since the view last drew them. */
  changed = new Set();
  /** Changes when items were removed or reordered: the view then redraws all of them. */
  epoch = 0;
  state = undefined;
  /** Interrupts that wait for the user. */
  interrupts = [];
  /** Interrupts without an answer, each with its `cause`: the turn that asked is over. */
  expired = [];
  /** Tool call id → "approved" or "denied", by the user. */
  decisions = new Map();
  /** Ids of calls of client tools that wait for a result. */
  pending = [];
  /** The active or last run. */
  run = null;
  live = false;
  /** True while events from before the page was opened are fed. */
  replaying = false;
  /** Ids of messages and calls that were loaded whole, not built from events. */
  loadedIds = new Set();
  #itemsByKey = new Map();
  #lastChunkIds = new Map();

  /** Replaces all items by the messages of a thread, as in `GET …/threads/{t}`. */
  load(messages, state) {
    this.items = [];
    this.#itemsByKey.clear();
    this.#lastChunkIds.clear();
    this.changed.clear();
    this.epoch += 1;
    for (const message of list(messages)) this.addMessage(message);
    if (state !== undefined) this.state = state;
  }

  /** Adds one complete message of any role. */
  addMessage(value) {
    const message = object(value), { id, role } = message, subagent = this.#ensureSubagent(message.subagentRunId);
    if (role === "tool") return this.#setResult(message);
    if (role === "activity") return this.setActivity(message, message.activityType, object(message.content));
    if (role === "reasoning") return this.#setWhole("reasoning", id, subagent, { text: text(message.content), encrypted: Boolean(message.encryptedValue) });
    if (!(role === "assistant" && !text(message.content))) {
      this.#setWhole("message", id, subagent, { role, name: message.name, ...readContent(message.content), metadata: object(message.metadata) });
    }
    for (const call of list(message.toolCalls)) this.#setWholeCall(object(call), subagent);
  }

  #setWhole(kind, id, subagent, fields) {
    const item = this.ensureItem(kind, id, { subagent });
    Object.assign(item, fields, { open: false });
    this.markChanged(item);
  }

  #setWholeCall(call, subagent) {
    const item = this.ensureItem("tool", call.id, { subagent, name: text(object(call.function).name), args: "", meta: {}, outputs: [] });
    Object.assign(item, { args: text(object(call.function).arguments), open: false });
    this.#mergeVendorData(item, call.metadata);
    this.markChanged(item);
  }

  feed(event) {
    const handler = Object.hasOwn(HANDLERS, object(event).type) ? HANDLERS[event.type] : undefined;
    handler?.call(this, event);
  }

  /** The item of this kind and id; created if there is none. */
  ensureItem(kind, id, fields = {}) {
    const key = `${kind}:${id}`;
    let item = this.#itemsByKey.get(key);
    if (!item) {
      item = { key, kind, id: String(id), open: true, ...fields };
      this.#itemsByKey.set(key, item);
      if (!item.parentItem) this.items.push(item);
      this.markChanged(item);
    }
    return item;
  }

  find(kind, id) {
    return this.#itemsByKey.get(`${kind}:${id}`);
  }

  markChanged(item) {
    this.changed.add(item.parentItem ?? item);
  }

  #noticeCount = 0;
  /** `failed: true`: the notice offers to send the last user message again. */
  addNotice(level, message, fields = {}) {
    const retryText = fields.failed ? this.items.findLast((item) => item.kind === "message" && item.role === "user")?.text : undefined;
    this.ensureItem("notice", (this.#noticeCount += 1), { level, message, open: false, replayed: this.replaying, retryText, ...fields });
  }

  /** AG-UI allows a subagent id without SUBAGENT_STARTED; such a subagent gets a default name. */
  #ensureSubagent(id) {
    if (typeof id !== "string") return undefined;
    if (!this.find("subagent", id)) this.ensureItem("subagent", id, { name: "subagent", state: "unknown", open: false });
    return id;
  }

  // -- texts

  ensureText(kind, event, fields) {
    const item = this.ensureItem(kind, event.messageId, { text: "", subagent: this.#ensureSubagent(event.subagentRunId), ...fields });
    this.#mergeMetadata(item, event.metadata);
    return item;
  }

  appendText(kind, event, fields) {
    const item = this.ensureText(kind, event, fields);
    if (item.parts || item.sentHere) return; // the text of the user's own message is complete already
    item.text += text(event.delta);
    this.markChanged(item);
  }

  closeItem(kind, id) {
    const item = this.find(kind, id);
    if (item?.open) {
      item.open = false;
      this.markChanged(item);
    }
  }

  #mergeMetadata(item, metadata) {
    if (metadata) item.metadata = { ...item.metadata, ...object(metadata) };
  }

  /** The id of a chunk. Chunks without an id continue the last one of their kind and subagent. */
  chunkId(kind, event, id) {
    const key = `${kind} ${event.subagentRunId ?? ""}`;
    if (id !== undefined) this.#lastChunkIds.set(key, id);
    return id ?? this.#lastChunkIds.get(key);
  }

  // -- tools

  ensureToolCall(event) {
    const item = this.ensureItem("tool", event.toolCallId,
      { name: text(event.toolCallName), args: "", meta: {}, outputs: [], subagent: this.#ensureSubagent(event.subagentRunId) });
    if (event.type === "TOOL_CALL_START") item.open = true;
    if (!item.name) item.name = text(event.toolCallName);
    this.#mergeVendorData(item, event.metadata);
    this.markChanged(item);
    return item;
  }

  #mergeVendorData(item, metadata) {
    for (const [vendor, data] of Object.entries(object(metadata))) {
      item.meta = { ...item.meta, [vendor]: typeof data === "object" && data ? { ...object(item.meta[vendor]), ...data } : data };
    }
  }

  #setResult(message) {
    const item = this.ensureToolCall({ ...message, type: "", toolCallName: "tool" });
    Object.assign(item, { open: false, result: message.content ?? "", error: message.error });
    this.pending = this.pending.filter((id) => id !== item.id);
    this.markChanged(item);
  }

  setDecision(toolCallId, decision) {
    if (typeof toolCallId !== "string") return;
    this.decisions.set(toolCallId, decision);
    const item = this.find("tool", toolCallId);
    if (item) this.markChanged(item);
  }

  setToolResult(event) {
    this.#setResult({ toolCallId: event.toolCallId, content: event.content, subagentRunId: event.subagentRunId, metadata: event.metadata });
  }

  // -- activities

  /** The output of a tool call becomes part of the tool call item. */
  setActivity(event, activityType, content) {
    const id = event.messageId ?? event.id, toolCall = this.find("tool", content.toolCallId), existing = this.find("activity", id);
    if (existing && event.replace === false) return;
    const parentItem = toolCall && (activityType === "terminal" || activityType === "tool_output") ? toolCall : undefined;
    const item = existing ?? this.ensureItem("activity", id, { parentItem, subagent: this.#ensureSubagent(event.subagentRunId) });
    if (parentItem && !existing) parentItem.outputs.push(item);
    Object.assign(item, { activityType: text(activityType), content, open: false });
    this.markChanged(item);
  }

  patchActivity(event) {
    const item = this.find("activity", event.messageId);
    if (!item) return;
    // Output comes in thousands of lines. They are appended in place: an immutable update would copy all lines each time.
    if (isOutputAppend(event.patch) && Array.isArray(item.content.output)) {
      for (const { value } of event.patch) item.content.output.push(text(value));
    } else {
      const next = applyPatch(item.content, event.patch);
      if (next === undefined) return;
      item.content = object(next);
    }
    this.markChanged(item);
  }

  // -- state

  setState(next) {
    if (next === undefined) return;
    this.state = next;
    const item = this.ensureItem("state", this.run?.id ?? "", { open: false });
    item.value = next;
    this.markChanged(item);
  }

  // -- runs

  startRun(event) {
    for (const message of list(object(event.input).messages)) if (!this.find("message", message?.id)) this.addMessage(message);
    Object.assign(this, { live: true, pending: [], expired: [], run: { id: text(event.runId), cost: undefined } });
    this.#markOpenCalls();
  }

  /** The status of an unanswered call depends on the run, so it must be drawn again. */
  #markOpenCalls() {
    for (const item of this.items) if (item.kind === "tool" && item.result === undefined) this.markChanged(item);
  }

  endRun(fields, usage) {
    this.live = false;
    for (const item of this.items) if (item.open) this.closeItem(item.kind, item.id);
    this.#markOpenCalls();
    const run = this.run ?? { id: "" };
    const item = this.ensureItem("run", run.id, {});
    Object.assign(item, { open: false, usage: list(usage), cost: run.cost, ...fields });
    this.markChanged(item);
  }

  applySnapshot(messages) {
    const keep = new Set(), all = list(messages).map(object), roles = new Set(all.map((message) => message.role));
    for (const message of all) {
      keep.add(`message:${message.id}`).add(`reasoning:${message.id}`).add(`activity:${message.id}`);
      for (const call of list(message.toolCalls)) keep.add(`tool:${call?.id}`);
      if (message.role === "tool") keep.add(`tool:${message.toolCallId}`);
    }
    const isDropped = (item) => !keep.has(item.key)
      && (item.kind === "message" || item.kind === "tool" || (item.kind === "reasoning" && roles.has("reasoning")));
    if (this.items.some(isDropped)) {
      for (const item of this.items.filter(isDropped)) this.#itemsByKey.delete(item.key);
      this.items = this.items.filter((item) => !isDropped(item));
      this.epoch += 1;
    }
    for (const message of all) this.addMessage(message);
  }
}

function readContent(content) {
  return Array.isArray(content) ? { parts: content, text: content.map((part) => text(part?.text)).join("\n").trim() } : { text: text(content) };
}

const isOutputAppend = (patch) => Array.isArray(patch) && patch.length > 0
  && patch.every((operation) => operation?.op === "add" && operation.path === "/output/-");

/** @type {Record<string, (this: Model, event: any) => void>} */
const HANDLERS = {
  RUN_STARTED(event) { this.startRun(event); },
  RUN_FINISHED(event) {
    const outcome = object(event.outcome);
    this.interrupts = outcome.type === "interrupt" ? list(outcome.interrupts).filter((interrupt) => typeof interrupt?.id === "string") : [];
    this.pending = list(outcome.pendingToolCallIds);
    this.endRun({ outcome: outcome.type ?? "success", stopReason: object(event.result).stopReason }, event.usage);
  },
  RUN_ERROR(event) {
    this.endRun({ outcome: "error" }, event.usage);
    this.addNotice("bad", text(event.message) || "The run failed.", { code: event.code, failed: true });
  },
  TEXT_MESSAGE_START(event) { Object.assign(this.ensureText("message", event, {}), { role: event.role ?? "assistant", name: event.name, open: true }); },
  TEXT_MESSAGE_CONTENT(event) { this.appendText("message", event, { role: "assistant" }); },
  TEXT_MESSAGE_END(event) { this.closeItem("message", event.messageId); },
  TEXT_MESSAGE_CHUNK(event) {
    const messageId = this.chunkId("message", event, event.messageId);
    if (messageId !== undefined) this.appendText("message", { ...event, messageId }, { role: event.role ?? "assistant" });
  },
  REASONING_MESSAGE_START(event) { this.ensureText("reasoning", event).open = true; },
  REASONING_MESSAGE_CONTENT(event) { this.appendText("reasoning", event); },
  REASONING_MESSAGE_END(event) { this.closeItem("reasoning", event.messageId); },
  REASONING_MESSAGE_CHUNK(event) {
    const messageId = this.chunkId("reasoning", event, event.messageId);
    if (messageId !== undefined) this.appendText("reasoning", { ...event, messageId });
  },
  REASONING_ENCRYPTED_VALUE(event) {
    const item = this.find("reasoning", event.entityId);
    if (item) { item.encrypted = true; this.markChanged(item); }
  },
  TOOL_CALL_START(event) { this.ensureToolCall(event); },
  TOOL_CALL_ARGS(event) { this.ensureToolCall(event).args += text(event.delta); },
  TOOL_CALL_END(event) { this.ensureToolCall(event); this.closeItem("tool", event.toolCallId); },
  TOOL_CALL_CHUNK(event) {
    const toolCallId = this.chunkId("tool", event, event.toolCallId);
    if (toolCallId !== undefined) this.ensureToolCall({ ...event, toolCallId }).args += text(event.delta);
  },
  TOOL_CALL_RESULT(event) { this.setToolResult(event); },
  ACTIVITY_SNAPSHOT(event) { this.setActivity(event, event.activityType, object(event.content)); },
  ACTIVITY_DELTA(event) { this.patchActivity(event); },
  STATE_SNAPSHOT(event) { this.setState(event.snapshot ?? null); },
  STATE_DELTA(event) { this.setState(applyPatch(this.state ?? {}, event.delta)); },
  MESSAGES_SNAPSHOT(event) { this.applySnapshot(event.messages); },
  SUBAGENT_STARTED(event) {
    const item = this.ensureItem("subagent", event.subagentRunId, {});
    Object.assign(item, { name: text(event.name) || "subagent", description: text(event.description),
      subagent: event.subagentRunId === event.parentSubagentRunId ? undefined : event.parentSubagentRunId, state: "running", open: true });
    this.markChanged(item);
  },
  SUBAGENT_FINISHED(event) {
    const item = this.ensureItem("subagent", event.subagentRunId, { name: "subagent" });
    Object.assign(item, { state: object(event.outcome).type === "suspended" ? "waiting" : "done", result: event.result, open: false });
    this.markChanged(item);
  },
  SUBAGENT_ERROR(event) {
    const item = this.ensureItem("subagent", event.subagentRunId, { name: "subagent" });
    Object.assign(item, { state: "failed", message: text(event.message), open: false });
    this.markChanged(item);
  },
  STEP_STARTED(event) { this.ensureItem("step", `${this.run?.id}:${event.subagentRunId ?? ""}:${event.stepName}`,
    { name: text(event.stepName), subagent: event.subagentRunId }); },
  STEP_FINISHED(event) { this.closeItem("step", `${this.run?.id}:${event.subagentRunId ?? ""}:${event.stepName}`); },
  CUSTOM(event) { handleCustomEvent(this, text(event.name), event.value, event.subagentRunId); },
};
