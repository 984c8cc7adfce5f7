// The state of one thread of one agent: capabilities, messages, the active run, and the actions that are possible now.
//
// The views read everything from here, and all user actions go through here. Draws nothing.

import { encodePath, followEvents, getJson, postJson, Problem, send } from "../lib/api.js";
import { toast } from "../lib/dom.js";
import { readOptions } from "../lib/run_options.js";
import { signal } from "../lib/signal.js";
import { acceptsClientTools, deliveryModes, readSession } from "./capabilities.js";
import { ChosenOptions } from "./chosen_options.js";
import { EventLog } from "./event_log.js";
import { decisionOf } from "./interrupts.js";
import { Model } from "./model.js";
import { CONSOLE_TOOLS, pendingConsoleCalls } from "./client_tools.js";
import { loadRuns, replayThread } from "./replay.js";
import { Queue } from "./queue.js";
import { Runner } from "./runner.js";
import { watchOtherWindows } from "./other_windows.js";

/** Error codes after which the thread must be loaded again: the turn is gone, or another client answered. */
const OUTDATED_CODES = new Set(["TURN_LOST", "INTERRUPT_EXPIRED", "INTERRUPT_ANSWERED"]);

/** The message that lets an agent continue after its request expired. */
const ASK_AGAIN = "Your request expired before I answered it. Please continue, and ask again if you still need my answer.";

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
  /** Whether the models are those of the agent's file only: which of them are installed is not known. */
  areModelsBundled = signal(false);
  /** "idle", "live", or "lost": live, but without a connection. */
  run = signal("idle");
  /** State of the capability stream: "open", "lost" or "refused". */
  connection = signal("open");
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
    this.chosen = new ChosenOptions(agent, thread);
    /** Options that are sent with the next run. */
    this.selectedOptions = this.chosen.values;
    this.runner = new Runner(agent, abort, { onEvents: (batch) => this.#onEvents(batch), onState: (state) => (this.run.value = state),
      format: () => this.format.value });
    this.queue = new Queue(this);
  }

  get path() { return encodePath("agents", this.agent); }
  get threadPath() { return `${this.path}/threads/${encodePath(this.thread)}`; }
  get live() { return this.run.value !== "idle"; }
  /** What a run may ask for: option → statement. */
  get offers() { return readOptions(this.capabilities.value, this.agentInfo.value.options); }
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
    getJson(`${this.path}/models`, { signal: this.abort }).then((response) => this.#setModels(response), () => {});
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
    for (const { toolCallId, decision } of thread.decisions ?? []) model.setDecision(toolCallId, decision);
    Object.assign(model, { state: thread.state, interrupts: thread.interrupts, expired: thread.expiredInterrupts ?? [],
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
    if (data.capabilities) {
      this.capabilities.value = data.capabilities;
      if (!this.live) this.chosen.follow(data.capabilities);
    }
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
      if (entry.event.type === "RUN_STARTED") this.#onStarted();
    }
    this.onUpdate();
  }

  /** The gateway has stored the thread: it is listed from now on, not only when the run is over. */
  #onStarted() {
    this.isStored.value = true;
    this.chosen.runStarted();
    this.loadThreads().catch(() => {});
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
    for (const entry of entries) {
      const interrupt = this.model.interrupts.find(({ id }) => id === entry.interruptId), decision = interrupt && decisionOf(interrupt, entry);
      if (decision) this.model.setDecision(interrupt.toolCallId, decision);
    }
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

  /** Lets the agent continue after requests that were not answered: its session is resumed, and it asks again if it has to. */
  askAgain() {
    return this.send(ASK_AGAIN);
  }

  /** Removes expired requests from the page. */
  dismissExpired() {
    this.model.expired = [];
    this.#notify();
  }

  /** What the user chooses is sent with the next run. The mode and the model of a stored thread are set at once, too, so that they
   *  stay set and other windows show them; if that is late, the run brings them. The session's own options can only be set. */
  async selectOption(picker, value) {
    if (picker.set === "config") return this.#setConfig(picker, value);
    this.chosen.set(picker.id, value);
    if (!picker.set || this.live || !this.#hasSession(picker)) return undefined;
    try {
      return await postJson(`${this.threadPath}/${picker.set}`, { [picker.set]: value });
    } catch (problem) {
      if (problem.code === "RUN_IN_PROGRESS") return undefined; // it brings the choice itself
      const isRefused = problem instanceof Problem && problem.status < 500; // else the run says what is wrong
      if (isRefused && this.selectedOptions.value[picker.id] === value) this.chosen.set(picker.id, undefined);
      throw problem;
    }
  }

  /** A new thread has nothing to set, unless its session is there without a start of the agent. */
  #hasSession({ set }) {
    const { modes, models } = readSession(this.capabilities.value);
    return this.isStored.value || (set === "mode" ? modes : models).current !== undefined;
  }

  /** A run cannot bring an option of the session, so it waits until that is set. */
  #setting = Promise.resolve();
  #setConfig({ config, kind }, value) {
    const body = { id: config, value: kind === "boolean" ? value === "true" : value };
    const request = this.#setting.then(() => postJson(`${this.threadPath}/config`, body));
    this.#setting = request.catch(() => {});
    return request;
  }

  /** Makes the agent itself list its models. */
  async refreshModels() {
    this.#setModels(await postJson(`${this.path}/models:refresh`, {}));
  }

  #setModels({ models, source }) {
    this.models.value = models ?? [];
    this.areModelsBundled.value = source === "bundled";
  }

  async fork() {
    return (await postJson(`${this.threadPath}/fork`, {})).threadId;
  }

  // -- runs

  /** `options`: of `forwardedProps.gateway`. */
  input(messages, fields = {}, options = this.selectedOptions.value) {
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
    const options = this.selectedOptions.value; // as they were when the user sent the message
    try {
      await this.#setting;
      const thread = await this.loadThread();
      if (thread?.runId) return await this.#queueBehind(thread.runId, newMessages);
      if (fields?.resume && !areStillOpen(fields.resume, thread)) return this.#reportOutdated();
      const earlier = (thread?.messages ?? []).filter(({ role, id }) => role !== "activity" && !newMessages.some((message) => message.id === id));
      const input = this.input([...earlier, ...newMessages], fields, options);
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

  /** Forgets what the session now reports. Reloads the thread if it was outdated. */
  #afterRun() {
    this.chosen.follow(this.capabilities.value);
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
