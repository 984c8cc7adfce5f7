// One run at a time: started, followed to its end, taken up again after a break, stopped.
//
// In: a `RunAgentInput`, or the id of a run that is live. Out: `heard([{number, at, event, bytes|text}])` in the order of
// the run's log, each number once, whatever becomes of the connection. The run is asked to go on when a reader leaves:
// closing the page is not stopping.

import { at, Problem, send } from "../lib/api.js";
import { batches } from "../lib/sse.js";
import { decode, frames, PROTOBUF } from "./protobuf.js";
import { overSocket } from "./socket.js";

const SSE = "text/event-stream";
const ENDS = new Set(["RUN_FINISHED", "RUN_ERROR"]);
const SOONEST = 300, LATEST = 5000, TRIES = 8;
/** Milliseconds of reading in one go: after that the page may breathe. */
const AT_ONCE = 6;

export class Runner {
  /** `state("live" | "lost" | "idle")`: of the connection. */
  constructor(agent, abort, { heard, state, format }) {
    Object.assign(this, { agent, abort, heard, state, format, runId: null, last: 0 });
    this.#stopping = new Set();
  }

  #stopping;

  /** Resolves when the run is over; rejects where the gateway refuses it. */
  async start(input) {
    const first = () => (this.#socket ? overSocket(this.agent, { type: "run", input }, this.abort) : this.#open(at("agents", this.agent), { method: "POST", body: input }));
    await this.#go(input.runId, 0, first);
  }

  async attach(runId, after = 0) {
    await this.#go(runId, after, () => this.#again(runId));
  }

  async cancel() {
    if (this.runId === null || this.#stopping.has(this.runId)) return;
    this.#stopping.add(this.runId);
    await send(`${at("runs", this.runId)}/cancel`, { method: "POST" });
  }

  async #go(runId, after, first) {
    Object.assign(this, { runId, last: after });
    this.state("live");
    try {
      if (await this.#read(first)) return;
      await this.#come_back(runId);
    } finally {
      this.runId = null;
      this.state("idle");
    }
  }

  /** The connection broke: the run went on without us. */
  async #come_back(runId) {
    let wait = SOONEST;
    for (let tries = 0; tries < TRIES && !this.abort.aborted; tries += 1) {
      this.state("lost");
      await pause(wait);
      wait = Math.min(wait * 2, LATEST);
      const before = this.last;
      if (await this.#read(() => this.#again(runId))) return;
      if (this.last > before) tries = 0;
    }
    if (!this.abort.aborted) throw new Error("The gateway cannot be reached. The run may go on without this page, and is shown when the gateway is back.");
  }

  get #socket() { return this.format() === "websocket"; }

  #again(runId) {
    if (this.#socket) return overSocket(this.agent, { type: "attach", runId, after: this.last }, this.abort);
    return this.#open(`${at("runs", runId)}/events?after=${this.last}`, {});
  }

  #open(path, options) {
    return send(path, { ...options, accept: this.format() === "protobuf" ? `${PROTOBUF}, ${SSE};q=0.5` : SSE, signal: this.abort });
  }

  /** True: the run ended, or the page did. */
  async #read(open) {
    try {
      const response = await open();
      this.state("live");
      for await (const batch of this.#batches(response)) {
        if (await this.#hear(batch)) return true;
      }
    } catch (problem) {
      if (this.abort.aborted) return true;
      if (problem instanceof Problem) throw problem;
    }
    return this.abort.aborted;
  }

  /** A response, or what a socket gives. */
  #batches(response) {
    if (!response.headers) return response;
    return response.headers.get("content-type") === PROTOBUF ? this.#frames(response) : this.#events(response);
  }

  async *#events(response) {
    for await (const batch of batches(response)) yield batch.map(({ id, data }) => ({ number: Number(id), text: data }));
  }

  /** Protobuf carries no numbers; the log has none to spare, so counting gives them. */
  async *#frames(response) {
    let number = this.last;
    for await (const batch of frames(response)) yield batch.map((bytes) => ({ number: (number += 1), bytes }));
  }

  /** What came together is read in parts, each short. True: that was the end of the run. */
  async #hear(batch) {
    const at = Date.now();
    let ended = false;
    for (let next = 0; next < batch.length; ) {
      const began = performance.now(), part = [];
      while (next < batch.length && (part.length % 64 || performance.now() - began < AT_ONCE)) {
        const { number, text, bytes } = batch[next++];
        if (!(number > this.last)) continue; // told before the connection broke
        this.last = number;
        const event = bytes ? decode(bytes) : JSON.parse(text);
        if (event) part.push({ number, at, event, text, bytes });
      }
      ended = ENDS.has(part.at(-1)?.event.type);
      this.heard(part);
      if (next < batch.length) await pause(0);
    }
    return ended;
  }
}

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
