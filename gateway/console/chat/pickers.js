// Mode, model, effort and the session's own options: whatever the snapshot offers, and nothing else.

import { fill, h, toast } from "../lib/dom.js";
import { pickers } from "./capabilities.js";

export class Pickers {
  constructor(session) {
    this.session = session;
    this.node = h("span", { class: "row wrap pickers", role: "group", "aria-label": "Settings of the session" });
    this.shown = "";
    for (const told of [session.capabilities, session.models, session.wished, session.about, session.run]) told.follow(() => this.#show(), session.abort);
  }

  get offered() {
    const { capabilities, models, about, wished } = this.session;
    return pickers(capabilities.value, { models: models.value, options: about.value.options ?? [], wished: wished.value });
  }

  /** Drawn again only where something is another: an open list must not be torn away by an unrelated change. */
  #show() {
    const offered = this.offered, now = JSON.stringify([offered, this.session.live]);
    if (now === this.shown) return;
    this.shown = now;
    const focused = document.activeElement?.dataset?.picker;
    fill(this.node, offered.map((picker) => this.#select(picker)));
    if (focused) this.node.querySelector(`[data-picker="${CSS.escape(focused)}"]`)?.focus();
  }

  #select(picker) {
    const known = picker.options.some(({ id }) => id === picker.current);
    const select = h("select", {
      class: "pick", "aria-label": picker.name, title: title(picker), disabled: picker.set === "config" && this.session.live,
      dataset: { picker: picker.id, testid: `picker-${picker.id}` }, on: { change: () => this.#choose(picker, select.value) },
    }, !known && h("option", { value: picker.current ?? "" }, picker.current || picker.name),
    picker.options.map(({ id, name, description }) => h("option", { value: id, title: description }, name ?? id)));
    select.value = known ? picker.current : (picker.current ?? "");
    return h("label", { class: `picker ${picker.kind === "boolean" ? "named" : ""}` }, h("span", { class: "muted" }, picker.name), select);
  }

  async #choose(picker, value) {
    try {
      await this.session.choose(picker, value);
    } catch (problem) {
      toast(problem.message, "bad");
      this.shown = "";
      this.#show();
    }
  }
}

function title({ name, current, options }) {
  const chosen = options.find(({ id }) => id === current);
  return chosen?.description ? `${name}: ${chosen.description}` : name;
}
