// The table of an agent's models: names, context window, effort levels, and prices.

import { h } from "../lib/dom.js";

const FIRST_ROWS = 12;

/** Takes the response of `GET /agents/{id}/models`. */
export function modelsTable({ models, source, lastUpdated }) {
  if (!models.length) return h("p", { class: "muted small" }, "No models are known yet. Some agents list their models only when a session starts.");
  const body = h("tbody", {}, models.slice(0, FIRST_ROWS).map(buildRow));
  const showAll = () => { body.append(...models.slice(FIRST_ROWS).map(buildRow)); more.remove(); };
  const more = h("button", { type: "button", class: "btn quiet", on: { click: showAll } }, `Show ${models.length - FIRST_ROWS} more`);
  return h("div", { class: "stack" },
    h("div", { class: "scroll", tabIndex: 0, role: "group", "aria-label": "Models" }, h("table", { class: "list" },
      h("thead", {}, h("tr", {}, ["Model", "Context", "Effort", "Input", "Output"].map((name) => h("th", { scope: "col" }, name)))), body)),
    models.length > FIRST_ROWS && more, h("p", { class: "muted tiny" },
      "Prices are in US dollars per million tokens. ",
      `Source: ${source === "bundled" ? "the agent's file" : "the agent"}${lastUpdated ? `, ${lastUpdated.slice(0, 10)}` : ""}.`));
}

function buildRow(model) {
  const unknown = new Set(model.unknown ?? []);
  return h("tr", { class: model.deprecated ? "muted" : undefined },
    h("th", { scope: "row" }, model.displayName, model.isDefault && h("span", { class: "tag" }, "default"),
      model.deprecated && h("span", { class: "tag warn" }, "deprecated"), h("div", { class: "mono muted tiny" }, model.modelId)),
    h("td", {}, unknown.has("contextWindow") ? "" : formatTokens(model.contextWindow)), h("td", {}, (model.thinkingEffortLevels ?? []).join(" ")),
    h("td", { class: "number" }, formatPrice(model.inputPricePerMillion)), h("td", { class: "number" }, formatPrice(model.outputPricePerMillion)));
}

function formatTokens(count) {
  if (!count) return "";
  return count >= 1_000_000 ? `${Number((count / 1_000_000).toFixed(2))} M` : `${Math.round(count / 1000)} K`;
}

function formatPrice(dollars) {
  if (dollars === undefined || dollars === null) return "";
  return dollars === 0 ? "free" : `$${dollars < 0.1 || Number.isInteger(dollars) ? dollars : dollars.toFixed(2)}`;
}
