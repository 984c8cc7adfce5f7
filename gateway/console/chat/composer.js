// Where the reader types. Enter sends, Shift+Enter begins a new line, Escape stops the run.

import { fill, h, icon, toast } from "../lib/dom.js";
import { Attachments } from "./attachments.js";
import { Completion } from "./completion.js";
import { Pickers } from "./pickers.js";

const TALLEST = 220;

export class Composer {
  constructor(session, { palette }) {
    this.session = session;
    this.attachments = new Attachments(session);
    this.input = h("textarea", {
      class: "say", rows: 1, "aria-label": "Message", autocomplete: "off", spellcheck: true, dataset: { testid: "composer" },
      on: { input: () => this.#typed(), keydown: (event) => this.#pressed(event), paste: (event) => this.attachments.pasted(event) },
    });
    this.completion = new Completion(session, this.input);
    this.pickers = new Pickers(session);
    this.sendButton = h("button", { class: "btn primary only", type: "submit", "aria-label": "Send" }, icon("arrow"));
    this.stopButton = h("button", { class: "btn only stop", type: "button", "aria-label": "Stop", hidden: true, on: { click: () => session.stop() } }, icon("stop"));
    this.delivery = h("select", { class: "pick", "aria-label": "When it is delivered", hidden: true, on: { change: () => (session.queue.delivery.value = this.delivery.value) } });
    this.queued = h("ul", { class: "queued", "aria-label": "Queued messages", hidden: true, dataset: { testid: "queued" } });
    this.hint = h("p", { class: "hint small muted" });
    const commands = h("button", { class: "btn quiet only", type: "button", "aria-label": "Commands", title: "Commands (Ctrl K)", on: { click: palette } }, icon("slash"));
    this.node = h("form", { class: "composer", "aria-label": "Say something", on: { submit: (event) => { event.preventDefault(); this.send(); } } },
      this.completion.node, this.queued, this.attachments.list, this.input,
      h("div", { class: "row wrap tools" }, this.attachments.buttons, commands, this.pickers.node, h("span", { class: "grow" }), this.delivery, this.stopButton, this.sendButton), this.hint);
    this.attachments.accept(this.node);
    session.queue.waiting.follow((waiting) => this.#waiting(waiting), session.abort);
    for (const told of [session.run, session.moved, session.capabilities, session.feed]) told.follow(() => this.#show(), session.abort);
  }

  get blocked() { return this.session.model.interrupts.length > 0 && !this.session.live; }

  #show() {
    const { session } = this, modes = session.deliveries, queues = session.live && modes.length > 0;
    this.stopButton.hidden = !session.live;
    this.sendButton.hidden = session.live && !queues;
    this.sendButton.disabled = this.blocked;
    this.sendButton.setAttribute("aria-label", queues ? "Queue" : "Send");
    this.delivery.hidden = !queues || modes.length < 2;
    if (queues && this.delivery.options.length !== modes.length) fill(this.delivery, modes.map((mode) => h("option", { value: mode }, DELIVERIES[mode] ?? mode)));
    this.input.placeholder = this.blocked ? "The agent waits for your answer above" : `Message ${session.capabilities.value.identity?.name ?? session.agent}`;
    this.hint.textContent = session.run.value === "lost" ? "The connection is lost. Trying again…" : session.feed.value === "lost" ? "The gateway is out of reach. Trying again…" : "";
  }

  #waiting(letters) {
    this.queued.hidden = !letters.length;
    fill(this.queued, letters.map(({ message, reason, delivery }) => h("li", { class: "row small", title: reason }, h("span", { class: "tag" }, `queued, ${DELIVERIES[delivery] ?? delivery}`),
      h("span", { class: "clip grow" }, typeof message.content === "string" ? message.content : "a message with attachments"))));
  }

  #typed() {
    this.input.style.setProperty("height", "auto");
    this.input.style.setProperty("height", `${Math.min(this.input.scrollHeight, TALLEST)}px`);
    this.completion.update();
  }

  #pressed(event) {
    if (event.isComposing || this.completion.pressed(event)) return;
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      this.send();
    } else if (event.key === "Escape" && this.session.live) {
      event.preventDefault();
      this.session.stop();
    }
  }

  /** Puts words here, for the reader to send. */
  write(words) {
    this.input.value = words;
    this.input.focus();
    this.#typed();
  }

  async send(words = this.input.value) {
    if (this.blocked || (!words.trim() && !this.attachments.some)) return;
    if (this.session.live && !this.session.deliveries.length) return;
    const content = this.attachments.some ? this.attachments.content(words) : words;
    this.input.value = "";
    this.attachments.clear();
    this.#typed();
    this.input.focus();
    await this.session.send(content).catch((problem) => {
      toast(problem.message, "bad");
      if (!this.input.value) this.write(words); // what was not taken is not lost
    });
  }
}

const DELIVERIES = { "on-idle": "when it is done", "next-tool-call": "at its next tool call", immediate: "at once" };
