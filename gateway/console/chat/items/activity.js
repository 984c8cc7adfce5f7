// Views of activities: plans, live output, content; any other activity as a tree.

import { fill, h, icon } from "../../lib/dom.js";
import { Markdown } from "../../render/markdown.js";
import { contentParts } from "../../render/content.js";
import { Tree } from "../../render/tree.js";
import { outputView } from "./output.js";

const STATUS_ICONS = { completed: "check", in_progress: "right" };
const STATUS_LABELS = { completed: "done", in_progress: "in progress", pending: "to do" };

export function activityView(item) {
  switch (item.activityType) {
    case "plan": return planView();
    case "terminal": case "tool_output": return outputView(item);
    case "content": return framedView("content", (content) => contentParts(Array.isArray(content.parts) ? content.parts : []));
    default: return treeView(item);
  }
}

function planView() {
  const list = h("div", {}), count = h("span", { class: "muted small" }), markdown = new Markdown();
  const node = h("section", { class: "plan", "aria-label": "Plan", dataset: { testid: "plan" } },
    h("div", { class: "row head" }, icon("list"), h("h3", {}, "Plan"), count), list);
  return {
    node,
    update({ content }) {
      const planEntries = Array.isArray(content.entries) ? content.entries : [];
      const done = planEntries.filter((entry) => entry?.status === "completed").length;
      count.textContent = content.removed ? "withdrawn" : planEntries.length ? `${done} of ${planEntries.length}` : "";
      node.classList.toggle("retracted", content.removed === true);
      if (typeof content.content === "string") markdown.update(content.content, false);
      fill(list, typeof content.content === "string" && markdown.node, content.uri && h("code", {}, content.uri),
        planEntries.length > 0 && h("ul", {}, planEntries.map(entryRow)));
    },
  };
}

function entryRow(entry) {
  const status = STATUS_LABELS[entry?.status] ? entry.status : "pending";
  return h("li", { class: status }, h("span", { class: "mark" }, STATUS_ICONS[status] && icon(STATUS_ICONS[status])),
    h("span", { class: "grow" }, String(entry?.content ?? "")), h("span", { class: "sr" }, STATUS_LABELS[status]),
    entry?.priority === "high" && h("span", { class: "tag warn" }, "high"));
}

function framedView(kind, draw) {
  const node = h("div", { class: `activity ${kind}` });
  return { node, update: ({ content }) => fill(node, draw(content)) };
}

function treeView(item) {
  const tree = new Tree();
  const node = h("details", { class: "aside" }, h("summary", {}, icon("info"), h("span", {}, item.activityType || "activity")), tree.node);
  return { node, update: ({ content }) => tree.update(content) };
}
