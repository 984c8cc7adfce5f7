// Messages to an active run. The gateway delivers them when it can and reports each on the thread's event stream. The stream is
// read only while a message is queued, because a browser allows few connections.

import { followEvents, postJson } from "../lib/api.js";
import { signal } from "../lib/signal.js";

export class Queue {
  /** [{message, deliveryId, delivery, reason}]; `reason`: the gateway's text on why the message waits. */
  waiting = signal([]);
  delivery = signal(undefined);
  #session;
  #stream = null;
  #lastNumber = 0;

  constructor(session) {
    this.#session = session;
    session.abort.addEventListener("abort", () => this.#stream?.abort());
  }

  get selectedMode() {
    const modes = this.#session.deliveryModes;
    return modes.includes(this.delivery.value) ? this.delivery.value : modes[0];
  }

  async add(message) {
    const delivery = this.selectedMode, deliveryId = crypto.randomUUID();
    const forwardedProps = this.#session.input([]).forwardedProps;
    this.waiting.value = [...this.waiting.value, { message, deliveryId, delivery }];
    try {
      const receipt = await postJson(`${this.#session.threadPath}/messages`, { message, delivery, deliveryId, forwardedProps });
      this.#onEvent({ type: `delivery.${receipt.status}`, ...receipt });
    } catch (problem) {
      this.#remove(deliveryId);
      throw problem;
    }
    if (this.waiting.value.length) this.#followThread();
  }

  #followThread() {
    if (this.#stream) return;
    this.#stream = new AbortController();
    const path = `${this.#session.threadPath}/events?after=${this.#lastNumber}`;
    followEvents(path, ({ id, data }) => { this.#lastNumber = Number(id ?? this.#lastNumber); this.#onEvent(data); }, this.#stream.signal);
  }

  /** Handles `delivery.delivered`, `delivery.failed` and `delivery.deferred`; ignores other events. */
  #onEvent(event) {
    const entry = this.waiting.value.find(({ deliveryId }) => deliveryId === event.deliveryId), { model } = this.#session;
    if (!entry) return;
    if (event.type === "delivery.delivered") {
      if (!model.find("message", entry.message.id)) this.#session.addUserMessage(entry.message);
      if (event.runId) this.#session.followRun(event.runId);
      this.#remove(entry.deliveryId);
    } else if (event.type === "delivery.failed") {
      model.addNotice("bad", `Your message was not delivered: ${event.reason ?? "the gateway gave no reason"}`, { code: event.code });
      this.#session.onUpdate();
      this.#remove(entry.deliveryId);
    } else if (event.type === "delivery.deferred") {
      this.waiting.value = this.waiting.value.map((other) => (other === entry ? { ...other, reason: event.reason } : other));
    }
  }

  #remove(removedId) {
    this.waiting.value = this.waiting.value.filter(({ deliveryId }) => deliveryId !== removedId);
    if (this.waiting.value.length) return;
    this.#stream?.abort();
    this.#stream = null;
  }
}
