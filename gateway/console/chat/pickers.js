// The selects for mode, model, effort and the session's own options, as far as the snapshot offers them.

import { fill, h, toast } from "../lib/dom.js";
import { listPickers } from "./capabilities.js";

export class Pickers {
  constructor(session) {
    this.session = session;
    this.node = h("span", { class: "row wrap pickers", role: "group", "aria-label": "Session settings" });
    this.drawn = "";
    const sources = [session.capabilities, session.models, session.selectedOptions, session.agentInfo, session.run];
    for (const source of sources) source.subscribe(() => this.#show(), session.abort);
  }

  get available() {
    const { capabilities, models, agentInfo, selectedOptions } = this.session;
    return listPickers(capabilities.value, { models: models.value, options: agentInfo.value.options ?? [], selected: selectedOptions.value });
  }

  /** Redraws only after a change of the pickers: an open list must not close because of something else. */
  #show() {
    const pickers = this.available, key = JSON.stringify([pickers, this.session.live]);
    if (key === this.drawn) return;
    this.drawn = key;
    const focused = document.activeElement?.dataset?.picker;
    fill(this.node, pickers.map((picker) => this.#buildSelect(picker)));
    if (focused) this.node.querySelector(`[data-picker="${CSS.escape(focused)}"]`)?.focus();
  }

  #buildSelect(picker) {
    const isKnown = picker.options.some(({ id }) => id === picker.current);
    const select = h("select", {
      class: "pick", "aria-label": picker.name, title: tooltip(picker), disabled: picker.set === "config" && this.session.live,
      dataset: { picker: picker.id, testid: `picker-${picker.id}` }, on: { change: () => this.#selectOption(picker, select.value) },
    }, !isKnown && h("option", { value: picker.current ?? "" }, picker.current || picker.name),
    picker.options.map(({ id, name, description }) => h("option", { value: id, title: description }, name ?? id)));
    select.value = isKnown ? picker.current : (picker.current ?? "");
    return h("label", { class: `picker ${picker.kind === "boolean" ? "named" : ""}` }, h("span", { class: "muted" }, picker.name), select);
  }

  async #selectOption(picker, value) {
    try {
      await this.session.selectOption(picker, value);
    } catch (problem) {
      toast(problem.message, "bad");
      this.drawn = "";
      this.#show();
    }
  }
}

function tooltip({ name, current, options }) {
  const selected = options.find(({ id }) => id === current);
  return selected?.description ? `${name}: ${selected.description}` : name;
}
