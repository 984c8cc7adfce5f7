// What somebody said: the reader's words as they were typed, the agent's as Markdown.

import { fill, h } from "../../lib/dom.js";
import { Markdown } from "../../render/markdown.js";
import { contentParts } from "../../render/content.js";

const WHO = { user: "You", system: "System", developer: "Developer" };

export function messageView(item, { session }) {
  const who = item.role === "assistant" ? item.name ?? session.capabilities.value.identity?.name ?? session.agent : WHO[item.role] ?? item.role;
  const node = h("article", { class: `message ${item.role}`, "aria-label": who, dataset: { testid: `message-${item.role}` } });
  return item.role === "assistant" ? spoken(node) : typed(node);
}

function spoken(node) {
  const markdown = new Markdown();
  node.append(markdown.node);
  return {
    node,
    update(item, hasTime) {
      const more = markdown.update(item.text, item.open, hasTime);
      node.classList.toggle("streaming", item.open || more);
      node.classList.toggle("retracted", Boolean(item.retracted));
      return more;
    },
  };
}

function typed(node) {
  return {
    node,
    update(item) {
      node.dataset.delivery = item.delivery ?? "";
      fill(node, item.parts ? contentParts(item.parts) : h("div", { class: "typed" }, item.text), item.delivery && h("span", { class: "tag" }, item.delivery));
    },
  };
}
