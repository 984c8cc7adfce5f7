// Small things between what is said: notices, the bill of a run, shared state, steps, events that only some know.

import { fill, h, icon } from "../../lib/dom.js";
import { remedy } from "../../pages/agent_parts.js";
import { Tree } from "../../render/tree.js";
import { tokens } from "../capabilities.js";

export function noticeView(item, { session, say }) {
  const { said } = item;
  const node = h("div", { class: `notice ${item.level === "info" ? "" : item.level}`, role: item.level === "bad" && !item.past ? "alert" : "note", dataset: { testid: "notice" } });
  return {
    node,
    update(now) {
      fill(node, h("div", { class: "row top" }, now.level !== "info" && icon("warn"),
        h("div", { class: "grow words" }, now.words, now.code && h("code", { class: "code" }, now.code), advice(now), now.failed && unavailable(session.about.value)),
        said && h("button", { class: "btn", on: { click: () => say(said) } }, "Say it again")));
    },
  };
}

/** What a refusal carries beside its sentence: which capability, who said so, what would do instead. */
function advice({ told }) {
  if (!told) return null;
  const lines = [];
  if (told.capability) lines.push(["capability ", h("code", {}, told.capability), told.source && ` · said by ${told.source}`]);
  if (Array.isArray(told.suggestions) && told.suggestions.length) lines.push(["perhaps: ", told.suggestions.join(", ")]);
  if (typeof told.hint === "string") lines.push([told.hint]);
  return lines.map((line) => h("div", { class: "muted" }, line));
}

/** An agent that cannot run at all: what would mend it. */
const unavailable = ({ availability }) => (availability && availability.status !== "ready" ? remedy(availability) : null);

const ENDS = { cancelled: ["stopped", "warn"] };
const count = (number) => number.toLocaleString("en");

export function runView() {
  const node = h("div", { class: "run-end small muted", dataset: { testid: "run-end" } });
  return {
    node,
    update(now) {
      const [words, kind] = ENDS[now.outcome] ?? [];
      const bill = spent(now), stopped = now.stopReason && h("span", { class: "tag warn" }, `stopped: ${now.stopReason}`);
      node.hidden = !(words || bill.length || stopped);
      fill(node, words && h("span", { class: `tag ${kind}` }, words), stopped, bill.map((part) => h("span", {}, part)));
      node.title = (now.usage ?? []).map((entry) => JSON.stringify(entry)).join("\n");
    },
  };
}

function spent({ usage, cost }) {
  const sums = tokens(usage), parts = [];
  const inside = (key, word) => (sums[key] ? ` (${count(sums[key])} ${word})` : "");
  if (sums.inputTokens !== undefined) parts.push(`${count(sums.inputTokens)} tokens in${inside("cachedInputTokens", "cached")}`);
  if (sums.outputTokens !== undefined) parts.push(`${count(sums.outputTokens)} out${inside("reasoningTokens", "thinking")}`);
  if (cost !== undefined) parts.push(`$${cost < 0.01 ? cost.toFixed(4) : cost.toFixed(2)}`);
  const models = [...new Set((usage ?? []).map((entry) => entry?.model).filter(Boolean))];
  return models.length ? [...parts, models.join(", ")] : parts;
}

export function stateView() {
  const tree = new Tree();
  const node = h("details", { class: "aside state", open: true, dataset: { testid: "state" } }, h("summary", {}, icon("panel"), h("span", {}, "Shared state")), tree.node);
  return { node, update: (now) => tree.update(now.value) };
}

export function customView(item) {
  const tree = new Tree(), node = h("details", { class: "aside", dataset: { testid: "custom" } }, h("summary", {}, icon("bolt"), h("span", {}, item.name)));
  node.addEventListener("toggle", () => { tree.update(item.value); node.append(tree.node); }, { once: true });
  return { node, update() {} };
}

export function stepView(item) {
  const node = h("div", { class: "step small muted", dataset: { testid: "step" } });
  return { node, update: (now) => fill(node, now.open ? h("span", { class: "spin" }) : icon("check"), item.name) };
}
