// A message: the user's text as typed, the agent's text as Markdown.

import { fill, h } from "../../lib/dom.js";
import { Markdown } from "../../render/markdown.js";
import { contentParts } from "../../render/content.js";

const ROLE_NAMES = { user: "You", system: "System", developer: "Developer" };

export function messageView(item, { session }) {
  const author = item.role === "assistant" ? item.name ?? session.capabilities.value.identity?.name ?? session.agent : ROLE_NAMES[item.role] ?? item.role;
  const node = h("article", { class: `message ${item.role}`, "aria-label": author, dataset: { testid: `message-${item.role}` } });
  return item.role === "assistant" ? markdownView(node) : plainView(node);
}

function markdownView(node) {
  const markdown = new Markdown();
  node.append(markdown.node);
  return {
    node,
    update(item, hasTime) {
      const hasMore = markdown.update(item.text, item.open, hasTime);
      node.classList.toggle("streaming", item.open || hasMore);
      node.classList.toggle("retracted", Boolean(item.retracted));
      return hasMore;
    },
  };
}

function plainView(node) {
  return {
    node,
    update(item) {
      node.dataset.delivery = item.delivery ?? "";
      fill(node, item.parts ? contentParts(item.parts) : h("div", { class: "typed" }, item.text), item.delivery && h("span", { class: "tag" }, item.delivery));
    },
  };
}
