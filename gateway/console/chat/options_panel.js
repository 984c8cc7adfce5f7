// The button and the dialog for the options of the next run that have no picker: approvals, budget, folders, MCP servers and more.
// Only what the agent takes is offered.

import { fill, h, icon, openDialog } from "../lib/dom.js";
import { formSchema } from "../lib/run_options.js";
import { formFromSchema } from "../render/form.js";

export class OptionsPanel {
  constructor(session) {
    this.session = session;
    this.node = h("button", { class: "btn quiet options-button", type: "button", hidden: true, dataset: { testid: "options" },
      on: { click: () => this.#open() } });
    for (const source of [session.capabilities, session.selectedOptions, session.agentInfo]) source.subscribe(() => this.#show(), session.abort);
  }

  get #schema() { return formSchema(this.session.offers); }

  #show() {
    const schema = this.#schema;
    this.node.hidden = !schema;
    if (!schema) return;
    const count = Object.keys(schema.properties).filter((name) => name in this.session.selectedOptions.value).length;
    this.node.setAttribute("aria-label", count ? `Options: ${count} set` : "Options");
    this.node.title = "Options of the next run";
    fill(this.node, icon("options"), count > 0 && h("span", { class: "tag" }, String(count)));
  }

  #open() {
    const schema = this.#schema, { chosen, selectedOptions } = this.session;
    if (!schema) return;
    const names = Object.keys(schema.properties), current = selectedOptions.value;
    const initial = Object.fromEntries(names.filter((name) => name in current).map((name) => [name, current[name]]));
    openDialog("Options", (close) => {
      const apply = (values) => { for (const name of names) chosen.set(name, values[name]); close(); };
      const clear = h("button", { class: "btn quiet", type: "button", on: { click: () => apply({}) } }, "Use the defaults");
      return h("div", { class: "stack run-options", dataset: { testid: "run-options" } },
        h("p", { class: "small muted" }, "These options are sent with your messages in this thread, until you change them."),
        formFromSchema(schema, { initial, submit: apply, submitLabel: "Apply", empty: "Default", actions: [clear] }).node);
    });
  }
}
