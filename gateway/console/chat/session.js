// One thread of one agent, as the page holds it: what it can do, what was said, what is under way, what may be done now.
//
// Everything the page shows comes from here; everything the reader does goes through here. Draws nothing.

import { at, follow, getJson, postJson, Problem, send } from "../lib/api.js";
import { toast } from "../lib/dom.js";
import { signal } from "../lib/signal.js";
import { deliveries, takesTools } from "./capabilities.js";
import { Journal } from "./event_log.js";
import { Model } from "./model.js";
import { OWN_TOOLS, ownPending } from "./client_tools.js";
import { readPast, retell } from "./replay.js";
import { Queue } from "./queue.js";
import { Runner } from "./runner.js";
import { watch } from "./other_windows.js";

/** The turn that asked is gone, or somebody else has answered: the thread is another than this page thinks. */
const LOST = new Set(["TURN_LOST", "INTERRUPT_EXPIRED", "INTERRUPT_ANSWERED"]);

/** The gateway lists so many threads, the newest. */
const LISTED = 200;

/** After a run that was taken up again: by then one that was queued behind it has begun. */
const SOON = 600;

export class Session {
  model = new Model();
  journal = new Journal();
  capabilities = signal({});
  about = signal({});
  models = signal([]);
  /** "idle", "live", or "lost": live, but out of sight. */
  run = signal("idle");
  feed = signal("open");
  wished = signal({});
  /** Counts up whenever questions, pending calls or the thread itself may be others. */
  moved = signal(0);
  offersTools = signal(true);
  format = signal("sse");
  known = signal(false);
  /** The agent's threads, as they were last listed. */
  threads = signal([]);

  /** `shown()`: the model has news. */
  constructor(agent, thread, abort, shown) {
    Object.assign(this, { agent, thread, abort, shown });
    this.runner = new Runner(agent, abort, { heard: (batch) => this.#heard(batch), state: (state) => (this.run.value = state), format: () => this.format.value });
    this.queue = new Queue(this);
  }

  get path() { return at("agents", this.agent); }
  get threadPath() { return `${this.path}/threads/${at(this.thread)}`; }
  get live() { return this.run.value !== "idle"; }
  get deliveries() { return deliveries(this.capabilities.value); }

  /** What the page needs before it can be drawn; the rest follows by itself. */
  async open() {
    const [about, capabilities, thread] = await Promise.all([
      getJson(this.path, { signal: this.abort }), getJson(`${this.path}/capabilities?thread=${at(this.thread)}`, { signal: this.abort }), this.look(),
    ]);
    this.about.value = about;
    this.capabilities.value = capabilities;
    await this.#take(thread);
    watch(this);
    getJson(`${this.path}/models`, { signal: this.abort }).then((found) => (this.models.value = found.models ?? []), () => {});
    follow(`${this.path}/capabilities?thread=${at(this.thread)}`, (frame) => this.#changed(frame), this.abort, (state, problem) => this.#feeding(state, problem));
    if (thread?.runId) this.#attached(thread.runId).then(() => this.#soon(SOON));
  }

  /** The thread as the gateway has it; null: it is new. Asked only if it is listed: a refusal is an error to a browser. */
  async look() {
    try {
      if (!this.known.value) {
        const listed = await this.list();
        if (listed.length < LISTED && !listed.some(({ threadId }) => threadId === this.thread)) return null;
      }
      return await getJson(this.threadPath, { signal: this.abort });
    } catch (problem) {
      if (problem.code === "UNKNOWN_THREAD") return null;
      throw problem;
    }
  }

  /** One request at a time: whoever asks meanwhile gets the same answer. */
  #listing = null;
  list() {
    this.#listing ??= listThreads(this.agent, this.abort).then((threads) => (this.threads.value = threads)).finally(() => (this.#listing = null));
    return this.#listing;
  }

  /** What the page does not know of the thread yet: all of it, or what others did. */
  async #take(thread) {
    this.known.value = thread !== null;
    if (thread === null) return;
    const past = await readPast(thread, this.journal, this.abort);
    if (this.live) return; // the reader was quicker; the rest is seen when that run is over
    for (const { runId, entries } of past) for (const entry of entries) this.journal.add(entry, runId);
    retell(this.model, thread.messages, past);
    const { model } = this, unanswered = model.pending.filter((id) => model.find("tool", id)?.result === undefined);
    Object.assign(model, { state: thread.state, interrupts: thread.interrupts, pending: [...new Set([...unanswered, ...ownPending(thread.messages)])] });
    this.#show();
  }

  #refreshing = null;
  /** Another page, or a message that was queued there, may have gone on with the thread. */
  refresh() {
    this.#refreshing ??= this.#refresh().finally(() => (this.#refreshing = null));
    return this.#refreshing;
  }

  async #refresh() {
    if (this.live) return;
    const thread = await this.look();
    if (this.live || thread === null) return;
    await this.#take(thread);
    if (thread.runId && !this.live) this.#attached(thread.runId);
  }

  #soon(milliseconds = 0) {
    setTimeout(() => this.refresh().catch(() => {}), milliseconds);
  }

  async #attached(runId) {
    if (this.journal.over(runId)) return undefined; // it ended while the page read of it
    return this.#followed(this.runner.attach(runId, this.journal.last(runId)));
  }

  #show() {
    this.moved.value += 1;
    this.shown();
  }

  #changed({ event, data }) {
    if (data.capabilities) this.capabilities.value = data.capabilities;
    if (event === "removed") this.model.notice("bad", data.detail ?? "This agent is not there any more.");
  }

  #feeding(state, problem) {
    const back = state === "open" && this.feed.value === "lost";
    this.feed.value = state;
    if (back) this.#soon();
    if (state === "refused") toast(`What the agent can do is not followed any more: ${problem.message}`, "bad");
  }

  #started = Promise.resolve();
  #begun = () => {};

  #heard(batch) {
    this.#begun();
    for (const entry of batch) {
      this.journal.add(entry, this.runner.runId);
      this.model.feed(entry.event);
    }
    this.shown();
  }

  // -- what the reader does

  async send(content) {
    const message = { id: `user-${crypto.randomUUID()}`, role: "user", content };
    if (this.live) {
      await this.#started; // before the gateway knows of the run, a message would overtake it
      if (this.live) return this.queue.put(message);
    }
    this.said(message);
    return this.#go([message]);
  }

  said(message) {
    this.model.message(message);
    this.model.find("message", message.id).mine = true;
    this.#show();
  }

  /** A run that the gateway began with a queued message: followed now, or behind the one that is still shown. */
  follow(runId) {
    if (runId === this.runner.runId || runId === this.upcoming) return;
    if (this.live) this.upcoming = runId;
    else this.#attached(runId);
  }

  /** `entries`: one for each open interrupt. */
  async answer(entries) {
    return this.#go([], { resume: entries });
  }

  /** `results`: tool call id → what the page's tool gives back. */
  async giveBack(results) {
    const messages = Object.entries(results).map(([toolCallId, content]) => ({ id: `tool-${crypto.randomUUID()}`, role: "tool", toolCallId, content }));
    for (const message of messages) this.model.message(message);
    this.#show();
    return this.#go(messages);
  }

  async stop() {
    const stopping = this.runner.cancel();
    await stopping.catch((problem) => toast(problem.message, "bad"));
  }

  /** Gives up what is asked: the agent is told that it was cancelled. */
  giveUp() {
    return this.answer(this.model.interrupts.map(({ id }) => ({ interruptId: id, status: "cancelled" })));
  }

  /** Questions that nobody can answer any more. */
  async forget() {
    const thread = await this.look().catch(() => null);
    this.model.interrupts = (thread?.interrupts ?? []).filter(({ expiresAt }) => !(Date.parse(expiresAt) <= Date.now()));
    this.#show();
  }

  async choose(picker, value) {
    if (picker.set && !this.live) {
      const body = picker.set === "config" ? { id: picker.config, value: picker.kind === "boolean" ? value === "true" : value } : { [picker.set]: value };
      await postJson(`${this.threadPath}/${picker.set}`, body);
    } else this.wished.value = { ...this.wished.value, [picker.id]: value };
  }

  async fork() {
    return (await postJson(`${this.threadPath}/fork`, {})).threadId;
  }

  // -- runs

  input(messages, more = {}) {
    const wishes = Object.fromEntries(Object.entries(this.wished.value).filter(([, wish]) => wish !== ""));
    return {
      threadId: this.thread, runId: `run-${crypto.randomUUID()}`, protocolVersion: "1.0", state: this.model.state ?? {}, messages,
      tools: this.offersTools.value && takesTools(this.capabilities.value) ? OWN_TOOLS.map(({ tool }) => tool) : [], context: [],
      forwardedProps: { gateway: { onDisconnect: "continue", ...wishes } }, ...more,
    };
  }

  async #go(fresh, more) {
    if (this.live) return;
    this.#started = new Promise((resolve) => (this.#begun = resolve));
    this.run.value = "live";
    try {
      const thread = await this.look();
      if (thread?.runId) return await this.#behind(thread.runId, fresh);
      if (more?.resume && !stillOpen(more.resume, thread)) return this.#outdated();
      const before = (thread?.messages ?? []).filter(({ role, id }) => role !== "activity" && !fresh.some((one) => one.id === id));
      const input = this.input([...before, ...fresh], more);
      this.journal.began(input);
      await this.#followed(this.runner.start(input));
    } catch (problem) {
      this.#refused(problem);
    } finally {
      this.#begun();
      this.run.value = "idle";
      this.#show();
    }
  }

  /** Another page was quicker: its run is shown, and a message waits behind it, where that can be. */
  async #behind(runId, fresh) {
    const following = this.#attached(runId);
    const message = fresh.find(({ role }) => role === "user");
    if (message && this.deliveries.length) await this.queue.put(message);
    else toast("This thread had a run under way: here it is. What you sent was not delivered.", "bad");
    await following;
  }

  async #followed(running) {
    try {
      await running;
      this.known.value = true;
      this.#settle();
    } catch (problem) {
      this.#refused(problem);
    }
    this.#show();
    const { upcoming } = this;
    this.upcoming = undefined;
    if (upcoming) await this.#attached(upcoming);
  }

  /** A choice that the session has taken up is the session's to tell. */
  #settle() {
    const { mode, ...rest } = this.wished.value;
    this.wished.value = mode === undefined ? this.wished.value : rest;
    const failed = this.model.items.at(-1);
    if (LOST.has(failed?.code)) this.#soon();
  }

  #outdated() {
    toast("This question is not open any more: it was answered elsewhere, or given up.");
    this.#soon();
  }

  #refused(problem) {
    if (this.abort.aborted) return;
    this.model.notice("bad", problem.message, { code: problem.code, failed: true, told: problem instanceof Problem ? problem.body : undefined });
    this.#show();
  }
}

function stillOpen(answers, thread) {
  const open = new Set((thread?.interrupts ?? []).map(({ id }) => id));
  return answers.every(({ interruptId }) => open.has(interruptId));
}

export async function listThreads(agent, abort) {
  return (await getJson(`${at("agents", agent)}/threads`, { signal: abort })).threads;
}

export async function deleteThread(agent, thread) {
  await send(`${at("agents", agent)}/threads/${at(thread)}`, { method: "DELETE" });
}
