// What the agent asks, above the composer: every open question is a card, and one resume answers them all. A yes is only
// ever the reader's own click. Calls of the page's own tools stand here too: they wait for somebody as well.

import { fill, h, toast } from "../lib/dom.js";
import { callCard } from "./tool_call_card.js";
import { questionCard } from "./interrupt_card.js";

export class Approvals {
  /** `left()`: there is nothing more to answer, and the reader was here. */
  constructor(session, left) {
    Object.assign(this, { session, left });
    this.title = h("h2", { tabIndex: -1 });
    this.cards = h("div", { class: "stack" });
    this.sendAll = h("button", { class: "btn primary", hidden: true, on: { click: () => this.#submit() } });
    this.giveUp = h("button", { class: "btn quiet", on: { click: () => this.#giveUp() } }, "Give up on it");
    this.node = h("section", { class: "approvals", "aria-label": "The agent asks", hidden: true, dataset: { testid: "approvals" } },
      h("div", { class: "row" }, this.title, h("span", { class: "grow" }), this.giveUp, this.sendAll), this.cards);
    this.open = [];
    this.shown = "";
    for (const told of [session.moved, session.run]) told.follow(() => this.#show(), session.abort);
    const clock = setInterval(() => this.#tick(), 1000);
    session.abort.addEventListener("abort", () => clearInterval(clock));
  }

  #show() {
    const { model, live } = this.session;
    const interrupts = live ? [] : model.interrupts, calls = live ? [] : model.pending;
    const now = JSON.stringify([interrupts.map(({ id }) => id), calls]);
    if (now === this.shown) return; // what is half filled in stays
    this.shown = now;
    const here = this.node.contains(document.activeElement);
    const settled = (go) => this.#settled(go);
    this.open = [...interrupts.map((interrupt) => questionCard(interrupt, this.session, settled)), ...calls.map((id) => callCard(id, this.session, settled))];
    this.node.hidden = !this.open.length;
    this.giveUp.hidden = !interrupts.length;
    this.giveUp.textContent = "Give up on it";
    this.title.textContent = this.open.length === 1 ? "Waiting for you" : `${this.open.length} questions wait for you`;
    fill(this.cards, this.open.map(({ node }) => node));
    this.#settled(false);
    this.#tick();
    if (here && !this.open.length) this.left();
    this.#attract();
  }

  /** Somebody who is typing is left alone; focus that would be lost goes to the questions, not onto a button. */
  #attract() {
    const typing = document.activeElement?.matches?.("textarea, input") && document.activeElement.value;
    if (this.open.length && !typing) this.title.focus({ preventScroll: true });
  }

  /** One question is sent with its answer; several wait for each other. */
  #settled(go = true) {
    const answered = this.open.filter((card) => card.answer()), all = answered.length === this.open.length && this.open.length > 0;
    this.sendAll.hidden = this.open.length < 2;
    this.sendAll.disabled = !all;
    this.sendAll.textContent = all ? `Send ${this.open.length} answers` : `${answered.length} of ${this.open.length} answered`;
    if (all && go && this.open.length === 1) this.#submit();
    else if (all && go) this.sendAll.focus();
    else if (go && this.node.contains(document.activeElement)) this.open.find((card) => !card.answer())?.node.focus();
  }

  async #submit() {
    const answers = this.open.map((card) => card.answer()), entries = answers.filter((one) => one.interruptId);
    const results = Object.fromEntries(answers.filter((one) => one.toolCallId).map(({ toolCallId, content }) => [toolCallId, content]));
    const going = entries.length ? this.session.answer(entries) : this.session.giveBack(results);
    await going.catch((problem) => toast(problem.message, "bad"));
  }

  #giveUp() {
    if (this.open.some((card) => card.expired?.())) return this.session.forget();
    return this.session.giveUp();
  }

  #tick() {
    if (this.node.hidden) return;
    const now = Date.now();
    for (const card of this.open) card.tick?.(now);
    if (this.open.some((card) => card.expired?.())) this.giveUp.textContent = "Dismiss";
  }
}
