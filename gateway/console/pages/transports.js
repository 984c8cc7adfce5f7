// The transports of an agent that has several: which one is in use, and why a better one is not.

import { h } from "../lib/dom.js";

const DRIVERS = { acp: "Agent Client Protocol", cli: "command line", remote: "remote AG-UI", python: "Python" };
const STATES = { "in-use": ["in use", "good"], ready: ["ready", ""], missing: ["not installed", ""], failed: ["failed", "bad"] };

/** The list, best first; null for an agent with one transport. */
export function transportsList(transports) {
  if (!Array.isArray(transports) || transports.length < 2) return null;
  const used = transports.findIndex(({ state }) => state === "in-use");
  return h("div", { class: "stack", dataset: { testid: "transports" } },
    h("p", { class: "muted small" }, "The gateway uses the first of these that works."),
    h("ol", { class: "transports" }, transports.map((transport, index) => transportRow(transport, used > index))));
}

function transportRow({ name, driver, state, reason }, isBetter) {
  const [label, kind] = STATES[state] ?? [state, ""];
  return h("li", {}, h("div", { class: "row" }, h("span", { class: "grow" }, h("code", {}, name), ` · ${DRIVERS[driver] ?? driver}`),
    h("span", { class: `tag ${kind}` }, label)),
  reason && h("p", { class: "small muted" }, reason),
  isBetter && !reason && state === "missing" && h("p", { class: "small muted" }, "Its program is not installed."));
}
