// The message field with its buttons. Enter sends, Shift+Enter starts a new line, Escape stops the run.

import { fill, h, icon, toast } from "../lib/dom.js";
import { Attachments } from "./attachments.js";
import { Completion } from "./completion.js";
import { FolderButton } from "./folder.js";
import { OptionsPanel } from "./options_panel.js";
import { Pickers } from "./pickers.js";

const MAX_INPUT_HEIGHT_PX = 220;

export class Composer {
  constructor(session, { openPalette }) {
    this.session = session;
    this.attachments = new Attachments(session);
    this.input = h("textarea", {
      class: "composer-input", rows: 1, "aria-label": "Message", autocomplete: "off", spellcheck: true, dataset: { testid: "composer" },
      on: { input: () => this.#onInput(), keydown: (event) => this.#onKey(event), paste: (event) => this.attachments.onPaste(event) },
    });
    this.completion = new Completion(session, this.input);
    this.pickers = new Pickers(session);
    this.folder = new FolderButton(session);
    this.options = new OptionsPanel(session);
    this.sendButton = h("button", { class: "btn primary only", type: "submit", "aria-label": "Send" }, icon("arrow"));
    this.stopButton = h("button", { class: "btn only stop", type: "button", "aria-label": "Stop", hidden: true,
      on: { click: () => session.stop() } }, icon("stop"));
    this.delivery = h("select", { class: "pick", "aria-label": "Delivery", hidden: true,
      on: { change: () => (session.queue.delivery.value = this.delivery.value) } });
    this.queued = h("ul", { class: "queued", "aria-label": "Queued messages", hidden: true, dataset: { testid: "queued" } });
    this.hint = h("p", { class: "hint small muted" });
    const commands = h("button", { class: "btn quiet only", type: "button", "aria-label": "Commands", title: "Commands (Ctrl K)",
      on: { click: openPalette } }, icon("slash"));
    this.node = h("form", { class: "composer", "aria-label": "Write a message", on: { submit: (event) => { event.preventDefault(); this.send(); } } },
      this.completion.node, this.queued, this.attachments.list, this.input,
      h("div", { class: "row wrap tools" }, this.attachments.buttons, commands, this.folder.node, this.pickers.node, this.options.node, h("span", { class: "grow" }), this.delivery,
        this.stopButton, this.sendButton), this.hint);
    this.attachments.acceptDrops(this.node);
    session.queue.waiting.subscribe((deliveries) => this.#showQueue(deliveries), session.abort);
    for (const source of [session.run, session.threadVersion, session.capabilities, session.connection]) source.subscribe(() => this.#show(), session.abort);
  }

  get isBlocked() { return this.session.model.interrupts.length > 0 && !this.session.live; }

  #show() {
    const { session } = this, modes = session.deliveryModes, canQueue = session.live && modes.length > 0;
    this.stopButton.hidden = !session.live;
    this.sendButton.hidden = session.live && !canQueue;
    this.sendButton.disabled = this.isBlocked;
    this.sendButton.setAttribute("aria-label", canQueue ? "Queue" : "Send");
    this.delivery.hidden = !canQueue || modes.length < 2;
    if (canQueue && this.delivery.options.length !== modes.length) fill(this.delivery,
      modes.map((mode) => h("option", { value: mode }, DELIVERY_LABELS[mode] ?? mode)));
    this.input.placeholder = this.isBlocked ? "Answer the request above to continue" : `Message ${session.capabilities.value.identity?.name ?? session.agent}`;
    this.hint.textContent = session.run.value === "lost" ? "The connection was lost. Reconnecting…" : session.connection.value === "lost"
      ? "The gateway cannot be reached. Reconnecting…" : "";
  }

  #showQueue(deliveries) {
    this.queued.hidden = !deliveries.length;
    fill(this.queued, deliveries.map(({ message, reason, delivery }) => h("li", { class: "row small", title: reason },
      h("span", { class: "tag" }, `queued: ${DELIVERY_LABELS[delivery] ?? delivery}`),
      h("span", { class: "clip grow" }, typeof message.content === "string" ? message.content : "Message with attachments"))));
  }

  #onInput() {
    this.input.style.setProperty("height", "auto");
    this.input.style.setProperty("height", `${Math.min(this.input.scrollHeight, MAX_INPUT_HEIGHT_PX)}px`);
    this.completion.update();
  }

  #onKey(event) {
    if (event.isComposing || this.completion.onKey(event)) return;
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      this.send();
    } else if (event.key === "Escape" && this.session.live) {
      event.preventDefault();
      this.session.stop();
    }
  }

  /** Puts a text into the field, for the user to send. */
  write(text) {
    this.input.value = text;
    this.input.focus();
    this.#onInput();
  }

  async send(text = this.input.value) {
    if (this.isBlocked || (!text.trim() && !this.attachments.hasFiles)) return;
    if (this.session.live && !this.session.deliveryModes.length) return;
    const content = this.attachments.hasFiles ? this.attachments.toContent(text) : text;
    this.input.value = "";
    this.attachments.clear();
    this.#onInput();
    this.input.focus();
    await this.session.send(content).catch((problem) => {
      toast(problem.message, "bad");
      if (!this.input.value) this.write(text); // the user keeps a message that was not sent
    });
  }
}

const DELIVERY_LABELS = { "on-idle": "when the agent is idle", "next-tool-call": "at the next tool call", immediate: "immediately" };
