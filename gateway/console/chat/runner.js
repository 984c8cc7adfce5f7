// Starts one run at a time, receives it to its end, reconnects after a break, and cancels it.
//
// In: a `RunAgentInput`, or the id of a live run. Out: `onEvents([{number, at, event, bytes|text}])` in the order of the run's
// log, each number once, whatever happens to the connection. The input asks the gateway to continue the run when the client
// disconnects, so closing the page does not stop it.

import { encodePath, Problem, send } from "../lib/api.js";
import { readFrames } from "../lib/sse.js";
import { decodeEvent, PROTOBUF, readProtobufFrames } from "./protobuf.js";
import { runOverSocket } from "./socket.js";

const SSE = "text/event-stream";
const END_EVENTS = new Set(["RUN_FINISHED", "RUN_ERROR"]);
const FIRST_RETRY_MS = 300, MAX_RETRY_MS = 5000, MAX_TRIES = 8;
/** Time for decoding in one go; then the browser can handle input. */
const DECODE_BUDGET_MS = 6;
const CLOCK_CHECK_EVENTS = 64;

export class Runner {
  /** `onState("live" | "lost" | "idle")` reports the connection; `format()` returns the wire format of the next request. */
  constructor(agent, abort, { onEvents, onState, format }) {
    Object.assign(this, { agent, abort, onEvents, onState, format, runId: null, lastNumber: 0 });
    this.#cancelledIds = new Set();
  }

  #cancelledIds;

  /** Resolves when the run is over; rejects if the gateway refuses it. */
  async start(input) {
    const connect = () => (this.#usesSocket ? runOverSocket(this.agent, { type: "run", input }, this.abort)
      : this.#request(encodePath("agents", this.agent), { method: "POST", body: input }));
    await this.#receive(input.runId, 0, connect);
  }

  async attach(runId, after = 0) {
    await this.#receive(runId, after, () => this.#reconnect(runId));
  }

  async cancel() {
    if (this.runId === null || this.#cancelledIds.has(this.runId)) return;
    this.#cancelledIds.add(this.runId);
    await send(`${encodePath("runs", this.runId)}/cancel`, { method: "POST" });
  }

  async #receive(runId, after, connect) {
    Object.assign(this, { runId, lastNumber: after });
    this.onState("live");
    try {
      if (await this.#read(connect)) return;
      await this.#retry(runId);
    } finally {
      this.runId = null;
      this.onState("idle");
    }
  }

  /** Reconnects after a break: the run continued meanwhile. */
  async #retry(runId) {
    let wait = FIRST_RETRY_MS;
    for (let tries = 0; tries < MAX_TRIES && !this.abort.aborted; tries += 1) {
      this.onState("lost");
      await pause(wait);
      wait = Math.min(wait * 2, MAX_RETRY_MS);
      const lastBefore = this.lastNumber;
      if (await this.#read(() => this.#reconnect(runId))) return;
      if (this.lastNumber > lastBefore) tries = 0;
    }
    if (this.abort.aborted) return;
    throw new Error("The gateway cannot be reached. The run may continue without this page. The console shows it when the gateway is back.");
  }

  get #usesSocket() { return this.format() === "websocket"; }

  #reconnect(runId) {
    if (this.#usesSocket) return runOverSocket(this.agent, { type: "attach", runId, after: this.lastNumber }, this.abort);
    return this.#request(`${encodePath("runs", runId)}/events?after=${this.lastNumber}`, {});
  }

  #request(path, options) {
    return send(path, { ...options, accept: this.format() === "protobuf" ? `${PROTOBUF}, ${SSE};q=0.5` : SSE, signal: this.abort });
  }

  /** Returns true if the run ended or the page was closed. */
  async #read(connect) {
    try {
      const response = await connect();
      this.onState("live");
      for await (const batch of this.#batches(response)) {
        if (await this.#decode(batch)) return true;
      }
    } catch (problem) {
      if (this.abort.aborted) return true;
      if (problem instanceof Problem) throw problem;
    }
    return this.abort.aborted;
  }

  /** Batches from a response or from a socket. */
  #batches(response) {
    if (!response.headers) return response;
    return response.headers.get("content-type") === PROTOBUF ? this.#protobufEvents(response) : this.#sseEvents(response);
  }

  async *#sseEvents(response) {
    for await (const batch of readFrames(response)) yield batch.map(({ id, data }) => ({ number: Number(id), text: data }));
  }

  /** Protobuf frames carry no numbers. The numbers of the log have no gaps, so they can be counted. */
  async *#protobufEvents(response) {
    let number = this.lastNumber;
    for await (const batch of readProtobufFrames(response)) yield batch.map((bytes) => ({ number: (number += 1), bytes }));
  }

  /** Decodes a batch in short parts. Returns true if it contained the end of the run. */
  async #decode(batch) {
    const at = Date.now();
    let hasEnded = false;
    for (let next = 0; next < batch.length; ) {
      const start = performance.now(), part = [];
      while (next < batch.length && (part.length % CLOCK_CHECK_EVENTS || performance.now() - start < DECODE_BUDGET_MS)) {
        const { number, text, bytes } = batch[next++];
        if (!(number > this.lastNumber)) continue; // received before the connection broke
        this.lastNumber = number;
        const event = bytes ? decodeEvent(bytes) : JSON.parse(text);
        if (event) part.push({ number, at, event, text, bytes });
      }
      hasEnded = END_EVENTS.has(part.at(-1)?.event.type);
      this.onEvents(part);
      if (next < batch.length) await pause(0);
    }
    return hasEnded;
  }
}

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
