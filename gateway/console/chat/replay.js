// What a thread has been through: the kept events of its newest runs, told again in their order, between the messages of
// older ones. Nothing comes twice: what events make is not loaded, and what was loaded is not made again.

import { at, send } from "../lib/api.js";
import { batches } from "../lib/sse.js";

/** Events that are told again, of the newest runs first. Of a run that is longer, only how it ended. */
const MOST = 20_000;
const ENDS = new Set(["RUN_FINISHED", "RUN_ERROR"]);
/** What adds to what is there, so must not be told of something that is there whole. */
const GROWS = /^(TEXT_MESSAGE|REASONING_MESSAGE|ACTIVITY|TOOL_CALL)_(?!RESULT)/;

/** `threadId` and `runs`: as the thread tells them; `journal`: knows what was heard of them. Out: [{runId, messageId, entries, whole}],
 *  oldest first, of those that are over and were not heard to their end. */
export async function readPast({ threadId, runs = [] }, journal, abort) {
  let left = MOST;
  const wanted = [];
  for (const run of [...runs].reverse()) {
    if (journal.over(run.runId)) continue;
    const heard = journal.last(run.runId), whole = run.events - heard <= left, after = whole ? heard : Math.max(heard, run.events - 1);
    left -= run.events - after;
    wanted.unshift({ ...run, threadId, after, whole });
  }
  return Promise.all(wanted.map((run) => read(run, abort)));
}

/** A log that cannot be read, or ends elsewhere, is as if there were none: its messages are in the thread. */
async function read({ runId, messageId, events, threadId, after, whole }, abort) {
  const entries = [];
  try {
    if (events > after) {
      const response = await send(`${at("runs", runId)}/events?after=${after}&protocol=1`, { accept: "text/event-stream", signal: abort });
      for await (const batch of batches(response)) for (const { id, data } of batch) entries.push(entry(Number(id), data));
    }
  } catch {
    entries.length = 0;
  }
  const last = entries.at(-1), all = last?.number === events && ENDS.has(last.event.type) && isOf(entries[0].event, threadId);
  return all ? { runId, messageId, entries, whole } : { runId, messageId, entries: [], whole: false };
}

/** Clients choose the names of runs, and a run of another thread may be called the same. */
const isOf = (first, threadId) => first.type !== "RUN_STARTED" || first.threadId === threadId;

function entry(number, text) {
  const event = JSON.parse(text);
  return { number, at: event.timestamp, event, text };
}

/** `messages`: all of the thread's; `past`: what `readPast` gave. */
export function retell(model, messages, past) {
  const places = new Map(messages.map(({ id }, index) => [id, index]));
  let next = 0;
  const loadUntil = (end) => {
    for (; next < end; next += 1) if (!isKnown(model, messages[next])) load(model, messages[next]);
  };
  model.past = true;
  past.forEach(({ runId, messageId, entries, whole }, index) => {
    loadUntil((places.get(messageId) ?? -1) + 1);
    if (!whole) loadUntil(places.get(past[index + 1]?.messageId) ?? messages.length);
    if (entries.length && entries[0].event.type !== "RUN_STARTED") model.feed({ type: "RUN_STARTED", runId });
    for (const { event } of entries) if (!(GROWS.test(event.type) && model.whole.has(event.toolCallId ?? event.messageId))) model.feed(event);
  });
  loadUntil(messages.length);
  model.past = false;
}

function isKnown(model, { role, id, toolCallId, toolCalls }) {
  if (role === "tool") return model.find("tool", toolCallId)?.result !== undefined;
  if (role === "reasoning" || role === "activity") return model.find(role, id) !== undefined;
  return model.find("message", id) !== undefined || (toolCalls ?? []).some((call) => model.find("tool", call?.id));
}

function load(model, message) {
  model.message(message);
  model.whole.add(message.id);
  for (const call of message.toolCalls ?? []) model.whole.add(call?.id);
}
