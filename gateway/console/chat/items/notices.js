// Small items between messages: notices, usage of a run, shared state, steps, and custom events.

import { fill, h, icon } from "../../lib/dom.js";
import { remedyView } from "../../pages/agent_parts.js";
import { Tree } from "../../render/tree.js";
import { sumTokens } from "../capabilities.js";

export function noticeView(item, { session, writeMessage }) {
  const { retryText } = item;
  const node = h("div", { class: `notice ${item.level === "info" ? "" : item.level}`,
    role: item.level === "bad" && !item.replayed ? "alert" : "note", dataset: { testid: "notice" } });
  return {
    node,
    update(now) {
      fill(node, h("div", { class: "row top" }, now.level !== "info" && icon("warn"),
        h("div", { class: "grow message-text" }, now.message, now.code && h("code", { class: "code" }, now.code), advice(now),
          now.failed && availabilityHint(session.agentInfo.value)),
        retryText && h("button", { class: "btn", on: { click: () => writeMessage(retryText) } }, "Retry")));
    },
  };
}

/** Details of a problem response: the capability, its source, suggestions and a hint. */
function advice({ body }) {
  if (!body) return null;
  const lines = [];
  if (body.capability) lines.push(["Capability ", h("code", {}, body.capability), body.source && ` · source: ${body.source}`]);
  if (Array.isArray(body.suggestions) && body.suggestions.length) lines.push(["Suggestions: ", body.suggestions.join(", ")]);
  if (typeof body.hint === "string") lines.push([body.hint]);
  return lines.map((line) => h("div", { class: "muted" }, line));
}

/** What to do if the agent cannot run at all. */
const availabilityHint = ({ availability }) => (availability && availability.status !== "ready" ? remedyView(availability) : null);

const OUTCOMES = { cancelled: ["stopped", "warn"] };
const formatCount = (number) => number.toLocaleString("en");

export function runView() {
  const node = h("div", { class: "run-end small muted", dataset: { testid: "run-end" } });
  return {
    node,
    update(now) {
      const [label, kind] = OUTCOMES[now.outcome] ?? [];
      const usage = usageParts(now), stopReason = now.stopReason && h("span", { class: "tag warn" }, `stopped: ${now.stopReason}`);
      node.hidden = !(label || usage.length || stopReason);
      fill(node, label && h("span", { class: `tag ${kind}` }, label), stopReason, usage.map((part) => h("span", {}, part)));
      node.title = (now.usage ?? []).map((entry) => JSON.stringify(entry)).join("\n");
    },
  };
}

function usageParts({ usage, cost }) {
  const sums = sumTokens(usage), parts = [];
  const detail = (key, label) => (sums[key] ? ` (${formatCount(sums[key])} ${label})` : "");
  if (sums.inputTokens !== undefined) parts.push(`${formatCount(sums.inputTokens)} input tokens${detail("cachedInputTokens", "cached")}`);
  if (sums.outputTokens !== undefined) parts.push(`${formatCount(sums.outputTokens)} output tokens${detail("reasoningTokens", "reasoning")}`);
  if (cost !== undefined) parts.push(`$${cost < 0.01 ? cost.toFixed(4) : cost.toFixed(2)}`);
  const models = [...new Set((usage ?? []).map((entry) => entry?.model).filter(Boolean))];
  return models.length ? [...parts, models.join(", ")] : parts;
}

export function stateView() {
  const tree = new Tree();
  const node = h("details", { class: "aside state", open: true, dataset: { testid: "state" } },
    h("summary", {}, icon("panel"), h("span", {}, "Shared state")), tree.node);
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
