// Reasoning of the model: open while it streams, collapsed afterwards, unless the user opened or closed it.

import { h, icon } from "../../lib/dom.js";
import { Markdown } from "../../render/markdown.js";

export function reasoningView(item, { session }) {
  const label = h("span", {}), markdown = new Markdown();
  const summary = h("summary", {}, icon("think"), label);
  const body = h("div", { class: "body" }, markdown.node);
  const node = h("details", { class: "reasoning", dataset: { testid: "reasoning" } }, summary, body);
  let isTouched = false;
  summary.addEventListener("click", () => { isTouched = true; });
  return {
    node,
    update(now, hasTime) {
      const supported = session.capabilities.value.reasoning?.supported;
      node.hidden = supported === false || (!now.text && !now.open && !now.encrypted);
      label.textContent = now.open ? "Thinking…" : now.text ? "Reasoning" : "Reasoning, encrypted by the model provider";
      node.classList.toggle("live", now.open);
      if (!isTouched) node.open = now.open;
      const hasMore = markdown.update(now.text, now.open, hasTime);
      if (now.open) body.scrollTop = body.scrollHeight;
      return hasMore;
    },
  };
}
