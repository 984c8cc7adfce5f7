// Rebuilds a thread from the stored events of its newest runs and from the messages of older ones. Nothing appears twice:
// messages that events produce are not loaded, and loaded messages are not produced again.

import { encodePath, send } from "../lib/api.js";
import { readFrames } from "../lib/sse.js";

/** Events to replay, newest runs first. Of a run that exceeds the rest, only the last event is read. */
const MAX_EVENTS = 20_000;
const END_EVENTS = new Set(["RUN_FINISHED", "RUN_ERROR"]);
/** Events that append to an item, so they must not be fed for an item that was loaded whole. */
const APPENDING_EVENTS = /^(TEXT_MESSAGE|REASONING_MESSAGE|ACTIVITY|TOOL_CALL)_(?!RESULT)/;

/** In: `threadId` and `runs` of the thread; `eventLog`: what was received already. Out: [{runId, messageId, entries, whole}],
 *  oldest first, for the finished runs that were not received to their end. */
export async function loadRuns({ threadId, runs = [] }, eventLog, abort) {
  let budget = MAX_EVENTS;
  const requests = [];
  for (const run of [...runs].reverse()) {
    if (eventLog.isOver(run.runId)) continue;
    const received = eventLog.lastNumber(run.runId), whole = run.events - received <= budget;
    const after = whole ? received : Math.max(received, run.events - 1);
    budget -= run.events - after;
    requests.unshift({ ...run, threadId, after, whole });
  }
  return Promise.all(requests.map((run) => loadRun(run, abort)));
}

/** A log that cannot be read completely is ignored: the messages of the run are in the thread. */
async function loadRun({ runId, messageId, events, threadId, after, whole }, abort) {
  const entries = [];
  try {
    if (events > after) {
      const response = await send(`${encodePath("runs", runId)}/events?after=${after}&protocol=1`, { accept: "text/event-stream", signal: abort });
      for await (const batch of readFrames(response)) for (const { id, data } of batch) entries.push(toEntry(Number(id), data));
    }
  } catch {
    entries.length = 0;
  }
  const last = entries.at(-1), isComplete = last?.number === events && END_EVENTS.has(last.event.type) && belongsTo(entries[0].event, threadId);
  return isComplete ? { runId, messageId, entries, whole } : { runId, messageId, entries: [], whole: false };
}

/** Clients choose run ids, so a run of another thread may have the same id. */
const belongsTo = (first, threadId) => first.type !== "RUN_STARTED" || first.threadId === threadId;

function toEntry(number, text) {
  const event = JSON.parse(text);
  return { number, at: event.timestamp, event, text };
}

/** Feeds a thread into the model. `messages`: all messages of the thread; `runs`: the result of `loadRuns`. */
export function replayThread(model, messages, runs) {
  const positions = new Map(messages.map(({ id }, index) => [id, index]));
  let next = 0;
  const loadUntil = (end) => {
    for (; next < end; next += 1) if (!isKnown(model, messages[next])) loadMessage(model, messages[next]);
  };
  model.replaying = true;
  runs.forEach(({ runId, messageId, entries, whole }, index) => {
    loadUntil((positions.get(messageId) ?? -1) + 1);
    if (!whole) loadUntil(positions.get(runs[index + 1]?.messageId) ?? messages.length);
    if (entries.length && entries[0].event.type !== "RUN_STARTED") model.feed({ type: "RUN_STARTED", runId });
    for (const { event } of entries) if (!(APPENDING_EVENTS.test(event.type) && model.loadedIds.has(event.toolCallId ?? event.messageId))) model.feed(event);
  });
  loadUntil(messages.length);
  model.replaying = false;
}

function isKnown(model, { role, id, toolCallId, toolCalls }) {
  if (role === "tool") return model.find("tool", toolCallId)?.result !== undefined;
  if (role === "reasoning" || role === "activity") return model.find(role, id) !== undefined;
  return model.find("message", id) !== undefined || (toolCalls ?? []).some((call) => model.find("tool", call?.id));
}

function loadMessage(model, message) {
  model.addMessage(message);
  model.loadedIds.add(message.id);
  for (const call of message.toolCalls ?? []) model.loadedIds.add(call?.id);
}
