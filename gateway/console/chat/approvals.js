// The open interrupts above the composer, one card each; one resume answers them all. Only the user's own click approves.
// Calls of the page's own tools are shown here too, because they also wait for the user.

import { fill, h, toast } from "../lib/dom.js";
import { expiredCard } from "./expired_card.js";
import { toolCallCard } from "./tool_call_card.js";
import { interruptCard } from "./interrupt_card.js";

const EXPIRY_CHECK_MS = 3000;

export class Approvals {
  /** `onEmpty()`: called when nothing is left to answer and the focus was here. */
  constructor(session, onEmpty) {
    Object.assign(this, { session, onEmpty });
    this.title = h("h2", { tabIndex: -1 });
    this.cards = h("div", { class: "stack" });
    this.sendButton = h("button", { class: "btn primary", hidden: true, on: { click: () => this.#submit() } });
    this.cancelButton = h("button", { class: "btn quiet", on: { click: () => this.#cancel() } });
    this.node = h("section", { class: "approvals", "aria-label": "Requests from the agent", hidden: true, dataset: { testid: "approvals" } },
      h("div", { class: "row" }, this.title, h("span", { class: "grow" }), this.cancelButton, this.sendButton), this.cards);
    this.open = [];
    this.drawn = "";
    this.lastCheck = 0;
    for (const source of [session.threadVersion, session.run]) source.subscribe(() => this.#show(), session.abort);
    const clock = setInterval(() => this.#tick(), 1000);
    session.abort.addEventListener("abort", () => clearInterval(clock));
  }

  #show() {
    const { model, live } = this.session;
    const interrupts = live ? [] : model.interrupts, calls = live ? [] : model.pending, expired = live ? [] : model.expired;
    const key = JSON.stringify([interrupts.map(({ id }) => id), calls, expired.map(({ id }) => id)]);
    if (key === this.drawn) return; // keeps forms that are partly filled in
    this.drawn = key;
    const hadFocus = this.node.contains(document.activeElement);
    const onAnswer = (advance) => this.#update(advance);
    this.open = [...interrupts.map((interrupt) => interruptCard(interrupt, this.session, onAnswer)),
      ...calls.map((id) => toolCallCard(id, this.session, onAnswer))];
    this.node.hidden = !this.open.length && !expired.length;
    // A single form has its own Cancel button.
    this.cancelButton.hidden = !interrupts.length || (this.open.length === 1 && this.open[0].hasCancel);
    this.cancelButton.textContent = interrupts.length > 1 ? "Cancel all" : "Cancel";
    this.title.textContent = this.#titleFor(expired.length);
    fill(this.cards, this.open.map(({ node }) => node), expired.length > 0 && expiredCard(expired, this.session));
    this.#update(false);
    this.#tick();
    if (hadFocus && !this.open.length) this.onEmpty();
    this.#takeFocus();
  }

  #titleFor(expiredCount) {
    if (this.open.length) return this.open.length === 1 ? "Waiting for you" : `${this.open.length} requests are waiting for you`;
    return expiredCount === 1 ? "A request expired" : `${expiredCount} requests expired`;
  }

  /** Moves the focus to the title, never onto a button, and not while the user is typing. */
  #takeFocus() {
    const isTyping = document.activeElement?.matches?.("textarea, input") && document.activeElement.value;
    if (this.open.length && !isTyping) this.title.focus({ preventScroll: true });
  }

  /** A single answer is sent at once. Several answers are sent together, when all are given. `advance`: move on to the next step. */
  #update(advance = true) {
    const answered = this.open.filter((card) => card.answer()), isComplete = answered.length === this.open.length && this.open.length > 0;
    this.sendButton.hidden = this.open.length < 2;
    this.sendButton.disabled = !isComplete;
    this.sendButton.textContent = isComplete ? `Send ${this.open.length} answers` : `${answered.length} of ${this.open.length} answered`;
    if (isComplete && advance && this.open.length === 1) this.#submit();
    else if (isComplete && advance) this.sendButton.focus();
    else if (advance && this.node.contains(document.activeElement)) this.open.find((card) => !card.answer())?.node.focus();
  }

  async #submit() {
    const answers = this.open.map((card) => card.answer()), entries = answers.filter((answer) => answer.interruptId);
    const results = Object.fromEntries(answers.filter((answer) => answer.toolCallId).map(({ toolCallId, content }) => [toolCallId, content]));
    const sending = entries.length ? this.session.answerInterrupts(entries) : this.session.sendToolResults(results);
    await sending.catch((problem) => toast(problem.message, "bad"));
  }

  #cancel() {
    return this.session.cancelInterrupts();
  }

  /** The gateway decides what has expired: the clock of this computer may be wrong. */
  #tick() {
    if (this.node.hidden) return;
    const now = Date.now(), isOver = this.open.map((card) => card.tick?.(now)).some(Boolean);
    if (isOver && now - this.lastCheck > EXPIRY_CHECK_MS) {
      this.lastCheck = now;
      this.session.refresh().catch(() => {});
    }
  }
}
