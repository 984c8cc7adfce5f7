// A helper, and the lane in which everything stands that it does.

import { fill, h, icon } from "../../lib/dom.js";

const STATES = { running: ["at work", ""], done: ["done", "good"], failed: ["failed", "bad"], waiting: ["waits for you", "warn"] };

export function subagentView(item) {
  const name = h("strong", {}), about = h("span", { class: "muted clip grow" }), state = h("span", { class: "tag" });
  const lane = h("div", { class: "lane", role: "group" }), end = h("div", { class: "lane-end" });
  const node = h("details", { class: "subagent", open: true, dataset: { testid: "subagent" } },
    h("summary", {}, icon("fork"), name, about, state), lane, end);
  return {
    node, lane,
    update(now) {
      name.textContent = now.name;
      about.textContent = now.description ?? "";
      about.title = now.description ?? "";
      lane.setAttribute("aria-label", `What ${now.name} does`);
      const [words, kind] = STATES[now.state] ?? ["", ""];
      state.hidden = !words;
      state.className = `tag ${kind}`;
      fill(state, now.state === "running" && h("span", { class: "spin" }), words);
      fill(end, now.words && h("div", { class: "notice bad" }, now.words), result(now.result));
    },
  };
}

function result(value) {
  if (value === undefined || value === null) return null;
  const words = typeof value === "string" ? value : JSON.stringify(value);
  return h("div", { class: "result small muted" }, "gave back ", h("code", {}, words.length > 400 ? `${words.slice(0, 400)}…` : words));
}
