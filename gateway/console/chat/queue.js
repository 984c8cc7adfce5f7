// Messages for a run that is under way: handed to the gateway, which delivers them when it can, and tells on the thread's
// feed what became of each. The feed is followed only while something waits: a browser has few connections to spare.

import { follow, postJson } from "../lib/api.js";
import { signal } from "../lib/signal.js";

export class Queue {
  /** [{message, deliveryId, delivery, reason}]; `reason`: why it waits, in the gateway's words. */
  waiting = signal([]);
  delivery = signal(undefined);
  #session;
  #following = null;
  #last = 0;

  constructor(session) {
    this.#session = session;
    session.abort.addEventListener("abort", () => this.#following?.abort());
  }

  get chosen() {
    const modes = this.#session.deliveries;
    return modes.includes(this.delivery.value) ? this.delivery.value : modes[0];
  }

  async put(message) {
    const delivery = this.chosen, deliveryId = crypto.randomUUID();
    const forwardedProps = this.#session.input([]).forwardedProps;
    this.waiting.value = [...this.waiting.value, { message, deliveryId, delivery }];
    try {
      const told = await postJson(`${this.#session.threadPath}/messages`, { message, delivery, deliveryId, forwardedProps });
      this.#heard({ type: `delivery.${told.status}`, ...told });
    } catch (problem) {
      this.#drop(deliveryId);
      throw problem;
    }
    if (this.waiting.value.length) this.#watch();
  }

  #watch() {
    if (this.#following) return;
    this.#following = new AbortController();
    const path = `${this.#session.threadPath}/events?after=${this.#last}`;
    follow(path, ({ id, data }) => { this.#last = Number(id ?? this.#last); this.#heard(data); }, this.#following.signal);
  }

  /** `delivery.accepted | deferred | delivered | failed`; the feed tells of other things too. */
  #heard(told) {
    const letter = this.waiting.value.find(({ deliveryId }) => deliveryId === told.deliveryId), { model } = this.#session;
    if (!letter) return;
    if (told.type === "delivery.delivered") {
      if (!model.find("message", letter.message.id)) this.#session.said(letter.message);
      if (told.runId) this.#session.follow(told.runId);
      this.#drop(letter.deliveryId);
    } else if (told.type === "delivery.failed") {
      model.notice("bad", `Your message was not delivered: ${told.reason ?? "nobody said why"}`, { code: told.code });
      this.#session.shown();
      this.#drop(letter.deliveryId);
    } else if (told.type === "delivery.deferred") {
      this.waiting.value = this.waiting.value.map((one) => (one === letter ? { ...one, reason: told.reason } : one));
    }
  }

  #drop(gone) {
    this.waiting.value = this.waiting.value.filter(({ deliveryId }) => deliveryId !== gone);
    if (this.waiting.value.length) return;
    this.#following?.abort();
    this.#following = null;
  }
}
