// The models of an agent: names, room, effort, and what a million tokens cost.

import { h } from "../lib/dom.js";

const SHOWN = 12;

/** From the answer of `/agents/{id}/models`. */
export function modelsTable({ models, source, lastUpdated }) {
  if (!models.length) return h("p", { class: "muted small" }, "None are known yet: some agents tell theirs with the first session.");
  const body = h("tbody", {}, models.slice(0, SHOWN).map(row));
  const all = () => { body.append(...models.slice(SHOWN).map(row)); more.remove(); };
  const more = h("button", { type: "button", class: "btn quiet", on: { click: all } }, `${models.length - SHOWN} more`);
  return h("div", { class: "stack" },
    h("div", { class: "scroll", tabIndex: 0, role: "group", "aria-label": "Models" }, h("table", { class: "list" },
      h("thead", {}, h("tr", {}, ["Model", "Context", "Effort", "In", "Out"].map((name) => h("th", { scope: "col" }, name)))), body)),
    models.length > SHOWN && more, h("p", { class: "muted tiny" }, `US dollars for a million tokens. From ${source === "bundled" ? "the agent's file" : "the agent itself"}${lastUpdated ? `, ${lastUpdated.slice(0, 10)}` : ""}.`));
}

function row(model) {
  const unknown = new Set(model.unknown ?? []);
  return h("tr", { class: model.deprecated ? "muted" : undefined },
    h("th", { scope: "row" }, model.displayName, model.isDefault && h("span", { class: "tag" }, "default"), model.deprecated && h("span", { class: "tag warn" }, "deprecated"), h("div", { class: "mono muted tiny" }, model.modelId)),
    h("td", {}, unknown.has("contextWindow") ? "" : tokens(model.contextWindow)), h("td", {}, (model.thinkingEffortLevels ?? []).join(" ")),
    h("td", { class: "number" }, price(model.inputPricePerMillion)), h("td", { class: "number" }, price(model.outputPricePerMillion)));
}

function tokens(count) {
  if (!count) return "";
  return count >= 1_000_000 ? `${Number((count / 1_000_000).toFixed(2))} M` : `${Math.round(count / 1000)} K`;
}

const price = (dollars) => (dollars === undefined || dollars === null ? "" : dollars === 0 ? "free" : `$${dollars < 0.1 || Number.isInteger(dollars) ? dollars : dollars.toFixed(2)}`);
