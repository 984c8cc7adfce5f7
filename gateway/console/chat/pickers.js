// The selects for mode, model, effort and the session's own options, as far as the snapshot offers them.

import { fill, h, toast } from "../lib/dom.js";
import { listPickers, readSession } from "./capabilities.js";

export class Pickers {
  constructor(session) {
    this.session = session;
    this.node = h("span", { class: "row wrap pickers", role: "group", "aria-label": "Session settings" });
    this.drawn = "";
    const sources = [session.capabilities, session.models, session.areModelsBundled, session.selectedOptions, session.agentInfo, session.run];
    for (const source of sources) source.subscribe(() => this.#show(), session.abort);
  }

  get available() {
    const { capabilities, models, offers, selectedOptions } = this.session;
    return listPickers(capabilities.value, { models: models.value, offers, selected: selectedOptions.value });
  }

  /** The list comes from the agent's file, and the agent takes other models, too: it may have none of these. */
  #canRefresh({ id }) {
    const { areModelsBundled, offers, agentInfo, capabilities } = this.session;
    return id === "model" && areModelsBundled.value && offers.model?.open === true && agentInfo.value.availability?.status === "ready"
      && !readSession(capabilities.value).models.available.length;
  }

  /** Redraws only after a change of the pickers: an open list must not close because of something else. */
  #show() {
    const pickers = this.available, key = JSON.stringify([pickers, this.session.live, pickers.map((picker) => this.#canRefresh(picker))]);
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
    picker.options.map(({ id, name, description }) => h("option", { value: id, title: description }, name ?? id)),
    this.#canRefresh(picker) && h("option", { value: REFRESH }, "Load the installed models…"));
    select.value = isKnown ? picker.current : (picker.current ?? "");
    return h("label", { class: `picker ${picker.kind === "boolean" ? "named" : ""}` }, h("span", { class: "muted" }, picker.name), select);
  }

  async #refreshModels() {
    this.drawn = ""; // the list is drawn again, with the model that is selected now
    await this.session.refreshModels();
    this.#show();
  }

  async #selectOption(picker, value) {
    try {
      if (value === REFRESH) await this.#refreshModels();
      else await this.session.selectOption(picker, value);
    } catch (problem) {
      toast(problem.message, "bad");
      this.drawn = "";
      this.#show();
    }
  }
}

/** A choice that is no model: ids of models have no line breaks. */
const REFRESH = "\n";

function tooltip({ name, current, options }) {
  const selected = options.find(({ id }) => id === current);
  return selected?.description ? `${name}: ${selected.description}` : name;
}
