// What goes on beside the conversation: plans, live output, pictures; anything else as a tree.

import { fill, h, icon } from "../../lib/dom.js";
import { Markdown } from "../../render/markdown.js";
import { contentParts } from "../../render/content.js";
import { Tree } from "../../render/tree.js";
import { output } from "./output.js";

const MARKS = { completed: "check", in_progress: "right" };
const WORDS = { completed: "done", in_progress: "under way", pending: "to do" };

export function activityView(item) {
  switch (item.activityType) {
    case "plan": return planView();
    case "terminal": case "tool_output": return output(item);
    case "content": return framed("content", (content) => contentParts(Array.isArray(content.parts) ? content.parts : []));
    default: return treeView(item);
  }
}

function planView() {
  const entries = h("div", {}), count = h("span", { class: "muted small" }), markdown = new Markdown();
  const node = h("section", { class: "plan", "aria-label": "Plan", dataset: { testid: "plan" } }, h("div", { class: "row head" }, icon("list"), h("h3", {}, "Plan"), count), entries);
  return {
    node,
    update({ content }) {
      const told = Array.isArray(content.entries) ? content.entries : [];
      const done = told.filter((entry) => entry?.status === "completed").length;
      count.textContent = content.removed ? "withdrawn" : told.length ? `${done} of ${told.length}` : "";
      node.classList.toggle("retracted", content.removed === true);
      if (typeof content.content === "string") markdown.update(content.content, false);
      fill(entries, typeof content.content === "string" && markdown.node, content.uri && h("code", {}, content.uri),
        told.length > 0 && h("ul", {}, told.map(entryRow)));
    },
  };
}

function entryRow(entry) {
  const status = WORDS[entry?.status] ? entry.status : "pending";
  return h("li", { class: status }, h("span", { class: "mark" }, MARKS[status] && icon(MARKS[status])),
    h("span", { class: "grow" }, String(entry?.content ?? "")), h("span", { class: "sr" }, WORDS[status]),
    entry?.priority === "high" && h("span", { class: "tag warn" }, "high"));
}

function framed(kind, draw) {
  const node = h("div", { class: `activity ${kind}` });
  return { node, update: ({ content }) => fill(node, draw(content)) };
}

function treeView(item) {
  const tree = new Tree();
  const node = h("details", { class: "aside" }, h("summary", {}, icon("info"), h("span", {}, item.activityType || "activity")), tree.node);
  return { node, update: ({ content }) => tree.update(content) };
}
