// A subagent, with the items that it produces.

import { fill, h, icon } from "../../lib/dom.js";

const MAX_RESULT_CHARS = 400;
const STATES = { running: ["running", ""], done: ["done", "good"], failed: ["failed", "bad"], waiting: ["waiting for you", "warn"] };

export function subagentView(item) {
  const name = h("strong", {}), about = h("span", { class: "muted clip grow" }), state = h("span", { class: "tag" });
  const items = h("div", { class: "subagent-items", role: "group" }), outcome = h("div", { class: "subagent-outcome" });
  const node = h("details", { class: "subagent", open: true, dataset: { testid: "subagent" } },
    h("summary", {}, icon("fork"), name, about, state), items, outcome);
  return {
    node,
    subagentItems: items,
    update(now) {
      name.textContent = now.name;
      about.textContent = now.description ?? "";
      about.title = now.description ?? "";
      items.setAttribute("aria-label", `Activity of ${now.name}`);
      const [label, kind] = STATES[now.state] ?? ["", ""];
      state.hidden = !label;
      state.className = `tag ${kind}`;
      fill(state, now.state === "running" && h("span", { class: "spin" }), label);
      fill(outcome, now.message && h("div", { class: "notice bad" }, now.message), resultView(now.result));
    },
  };
}

function resultView(value) {
  if (value === undefined || value === null) return null;
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return h("div", { class: "result small muted" }, "Result: ", h("code", {}, text.length > MAX_RESULT_CHARS ? `${text.slice(0, MAX_RESULT_CHARS)}…` : text));
}
