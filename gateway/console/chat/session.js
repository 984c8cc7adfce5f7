// The state of one thread of one agent: capabilities, messages, the active run, and the actions that are possible now.
//
// The views read everything from here, and all user actions go through here. Draws nothing.

import { encodePath, followEvents, getJson, postJson, Problem, send } from "../lib/api.js";
import { toast } from "../lib/dom.js";
import { signal } from "../lib/signal.js";
import { acceptsClientTools, deliveryModes } from "./capabilities.js";
import { EventLog } from "./event_log.js";
import { Model } from "./model.js";
import { CONSOLE_TOOLS, pendingConsoleCalls } from "./client_tools.js";
import { loadRuns, replayThread } from "./replay.js";
import { Queue } from "./queue.js";
import { Runner } from "./runner.js";
import { watchOtherWindows } from "./other_windows.js";

/** Error codes after which the thread must be loaded again: the turn is gone, or another client answered. */
const OUTDATED_CODES = new Set(["TURN_LOST", "INTERRUPT_EXPIRED", "INTERRUPT_ANSWERED"]);

/** The gateway lists only this many threads, the newest ones. */
const MAX_LISTED_THREADS = 200;

/** Delay of the refresh after a run that was attached: by then a queued message has started the next run. */
const NEXT_RUN_DELAY_MS = 600;

export class Session {
  model = new Model();
  eventLog = new EventLog();
  capabilities = signal({});
  agentInfo = signal({});
  models = signal([]);
  /** "idle", "live", or "lost": live, but without a connection. */
  run = signal("idle");
  /** State of the capability stream: "open", "lost" or "refused". */
  connection = signal("open");
  /** Options that are sent with the next run. */
  selectedOptions = signal({});
  /** Increases whenever interrupts, pending calls or messages may have changed. */
  threadVersion = signal(0);
  offersTools = signal(true);
  format = signal("sse");
  /** Whether the gateway has stored the thread. */
  isStored = signal(false);
  /** The agent's threads, as last loaded. */
  threads = signal([]);

  /** `onUpdate()`: called when the model has changed. */
  constructor(agent, thread, abort, onUpdate) {
    Object.assign(this, { agent, thread, abort, onUpdate });
    this.runner = new Runner(agent, abort, { onEvents: (batch) => this.#onEvents(batch), onState: (state) => (this.run.value = state),
      format: () => this.format.value });
    this.queue = new Queue(this);
  }

  get path() { return encodePath("agents", this.agent); }
  get threadPath() { return `${this.path}/threads/${encodePath(this.thread)}`; }
  get live() { return this.run.value !== "idle"; }
  get deliveryModes() { return deliveryModes(this.capabilities.value); }

  /** Loads what the page needs before it can be drawn, and starts the rest. */
  async open() {
    const [agentInfo, capabilities, thread] = await Promise.all([
      getJson(this.path, { signal: this.abort }),
      getJson(`${this.path}/capabilities?thread=${encodePath(this.thread)}`, { signal: this.abort }),
      this.loadThread(),
    ]);
    this.agentInfo.value = agentInfo;
    this.capabilities.value = capabilities;
    await this.#applyThread(thread);
    watchOtherWindows(this);
    getJson(`${this.path}/models`, { signal: this.abort }).then((response) => (this.models.value = response.models ?? []), () => {});
    followEvents(`${this.path}/capabilities?thread=${encodePath(this.thread)}`, (frame) => this.#onCapabilities(frame), this.abort,
      (state, problem) => this.#onConnection(state, problem));
    if (thread?.runId) this.#attachRun(thread.runId).then(() => this.#refreshLater(NEXT_RUN_DELAY_MS));
  }

  /** The thread from the gateway; null if it is new. Requested only if it is listed, because browsers log every 404. */
  async loadThread() {
    try {
      if (!this.isStored.value) {
        const listed = await this.loadThreads();
        if (listed.length < MAX_LISTED_THREADS && !listed.some(({ threadId }) => threadId === this.thread)) return null;
      }
      return await getJson(this.threadPath, { signal: this.abort });
    } catch (problem) {
      if (problem.code === "UNKNOWN_THREAD") return null;
      throw problem;
    }
  }

  /** One request at a time: calls during a request share its result. */
  #threadsRequest = null;
  loadThreads() {
    this.#threadsRequest ??= fetchThreads(this.agent, this.abort)
      .then((threads) => (this.threads.value = threads))
      .finally(() => (this.#threadsRequest = null));
    return this.#threadsRequest;
  }

  /** Adds the part of the thread that the page does not show yet. */
  async #applyThread(thread) {
    this.isStored.value = thread !== null;
    if (thread === null) return;
    const runs = await loadRuns(thread, this.eventLog, this.abort);
    if (this.live) return; // the user started a run meanwhile; the rest is loaded when it is over
    for (const { runId, entries } of runs) for (const entry of entries) this.eventLog.add(entry, runId);
    replayThread(this.model, thread.messages, runs);
    const { model } = this, unanswered = model.pending.filter((id) => model.find("tool", id)?.result === undefined);
    Object.assign(model, { state: thread.state, interrupts: thread.interrupts,
      pending: [...new Set([...unanswered, ...pendingConsoleCalls(thread.messages)])] });
    this.#notify();
  }

  #refreshRequest = null;
  /** Loads the thread again, because another page or a queued message may have continued it. */
  refresh() {
    this.#refreshRequest ??= this.#refresh().finally(() => (this.#refreshRequest = null));
    return this.#refreshRequest;
  }

  async #refresh() {
    if (this.live) return;
    const thread = await this.loadThread();
    if (this.live || thread === null) return;
    await this.#applyThread(thread);
    if (thread.runId && !this.live) this.#attachRun(thread.runId);
  }

  #refreshLater(milliseconds = 0) {
    setTimeout(() => this.refresh().catch(() => {}), milliseconds);
  }

  async #attachRun(runId) {
    if (this.eventLog.isOver(runId)) return undefined; // it ended while the thread was loaded
    return this.#trackRun(this.runner.attach(runId, this.eventLog.lastNumber(runId)));
  }

  #notify() {
    this.threadVersion.value += 1;
    this.onUpdate();
  }

  #onCapabilities({ event, data }) {
    if (data.capabilities) this.capabilities.value = data.capabilities;
    if (event === "removed") this.model.addNotice("bad", data.detail ?? "This agent was removed from the gateway.");
  }

  #onConnection(state, problem) {
    const isBack = state === "open" && this.connection.value === "lost";
    this.connection.value = state;
    if (isBack) this.#refreshLater();
    if (state === "refused") toast(`The console no longer receives capability updates: ${problem.message}`, "bad");
  }

  #runStarted = Promise.resolve();
  #markStarted = () => {};

  #onEvents(batch) {
    this.#markStarted();
    for (const entry of batch) {
      this.eventLog.add(entry, this.runner.runId);
      this.model.feed(entry.event);
    }
    this.onUpdate();
  }

  // -- user actions

  async send(content) {
    const message = { id: `user-${crypto.randomUUID()}`, role: "user", content };
    if (this.live) {
      await this.#runStarted; // otherwise the message could reach the gateway before the run
      if (this.live) return this.queue.add(message);
    }
    this.addUserMessage(message);
    return this.#startRun([message]);
  }

  addUserMessage(message) {
    this.model.addMessage(message);
    this.model.find("message", message.id).sentHere = true;
    this.#notify();
  }

  /** Shows a run that the gateway started with a queued message, now or after the run that is still shown. */
  followRun(runId) {
    if (runId === this.runner.runId || runId === this.nextRunId) return;
    if (this.live) this.nextRunId = runId;
    else this.#attachRun(runId);
  }

  /** `entries`: one for each open interrupt. */
  async answerInterrupts(entries) {
    return this.#startRun([], { resume: entries });
  }

  /** `results`: tool call id → result of the console tool. */
  async sendToolResults(results) {
    const messages = Object.entries(results).map(([toolCallId, content]) => ({ id: `tool-${crypto.randomUUID()}`, role: "tool", toolCallId, content }));
    for (const message of messages) this.model.addMessage(message);
    this.#notify();
    return this.#startRun(messages);
  }

  async stop() {
    await this.runner.cancel().catch((problem) => toast(problem.message, "bad"));
  }

  /** Cancels all open interrupts. */
  cancelInterrupts() {
    return this.answerInterrupts(this.model.interrupts.map(({ id }) => ({ interruptId: id, status: "cancelled" })));
  }

  /** Removes expired interrupts. */
  async dismissExpired() {
    const thread = await this.loadThread().catch(() => null);
    this.model.interrupts = (thread?.interrupts ?? []).filter(({ expiresAt }) => !(Date.parse(expiresAt) <= Date.now()));
    this.#notify();
  }

  async selectOption(picker, value) {
    if (picker.set && !this.live) {
      const body = picker.set === "config" ? { id: picker.config, value: picker.kind === "boolean" ? value === "true" : value } : { [picker.set]: value };
      await postJson(`${this.threadPath}/${picker.set}`, body);
    } else this.selectedOptions.value = { ...this.selectedOptions.value, [picker.id]: value };
  }

  async fork() {
    return (await postJson(`${this.threadPath}/fork`, {})).threadId;
  }

  // -- runs

  input(messages, fields = {}) {
    const options = Object.fromEntries(Object.entries(this.selectedOptions.value).filter(([, value]) => value !== ""));
    return {
      threadId: this.thread, runId: `run-${crypto.randomUUID()}`, protocolVersion: "1.0", state: this.model.state ?? {}, messages,
      tools: this.offersTools.value && acceptsClientTools(this.capabilities.value) ? CONSOLE_TOOLS.map(({ tool }) => tool) : [], context: [],
      forwardedProps: { gateway: { onDisconnect: "continue", ...options } }, ...fields,
    };
  }

  async #startRun(newMessages, fields) {
    if (this.live) return;
    this.#runStarted = new Promise((resolve) => (this.#markStarted = resolve));
    this.run.value = "live";
    try {
      const thread = await this.loadThread();
      if (thread?.runId) return await this.#queueBehind(thread.runId, newMessages);
      if (fields?.resume && !areStillOpen(fields.resume, thread)) return this.#reportOutdated();
      const earlier = (thread?.messages ?? []).filter(({ role, id }) => role !== "activity" && !newMessages.some((message) => message.id === id));
      const input = this.input([...earlier, ...newMessages], fields);
      this.eventLog.addInput(input);
      await this.#trackRun(this.runner.start(input));
    } catch (problem) {
      this.#showFailure(problem);
    } finally {
      this.#markStarted();
      this.run.value = "idle";
      this.#notify();
    }
  }

  /** Another page started a run first: shows that run, and queues the message behind it if possible. */
  async #queueBehind(runId, newMessages) {
    const following = this.#attachRun(runId);
    const message = newMessages.find(({ role }) => role === "user");
    if (message && this.deliveryModes.length) await this.queue.add(message);
    else toast("Another run is active in this thread, so your message was not sent. The console now shows that run.", "bad");
    await following;
  }

  async #trackRun(running) {
    try {
      await running;
      this.isStored.value = true;
      this.#afterRun();
    } catch (problem) {
      this.#showFailure(problem);
    }
    this.#notify();
    const { nextRunId } = this;
    this.nextRunId = undefined;
    if (nextRunId) await this.#attachRun(nextRunId);
  }

  /** Forgets the selected mode, because the session now reports it. Reloads the thread if it was outdated. */
  #afterRun() {
    const { mode, ...rest } = this.selectedOptions.value;
    this.selectedOptions.value = mode === undefined ? this.selectedOptions.value : rest;
    const lastItem = this.model.items.at(-1);
    if (OUTDATED_CODES.has(lastItem?.code)) this.#refreshLater();
  }

  #reportOutdated() {
    toast("This request is no longer open. It was answered or cancelled elsewhere.");
    this.#refreshLater();
  }

  #showFailure(problem) {
    if (this.abort.aborted) return;
    this.model.addNotice("bad", problem.message, { code: problem.code, failed: true, body: problem instanceof Problem ? problem.body : undefined });
    this.#notify();
  }
}

function areStillOpen(answers, thread) {
  const open = new Set((thread?.interrupts ?? []).map(({ id }) => id));
  return answers.every(({ interruptId }) => open.has(interruptId));
}

export async function fetchThreads(agent, abort) {
  return (await getJson(`${encodePath("agents", agent)}/threads`, { signal: abort })).threads;
}

/** Resolves with what is kept of the thread's worktree, or with null. */
export async function deleteThread(agent, thread) {
  return (await getJson(`${encodePath("agents", agent)}/threads/${encodePath(thread)}`, { method: "DELETE" }))?.kept ?? null;
}
