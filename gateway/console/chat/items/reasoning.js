// Thoughts: open while they come, folded away afterwards; whoever opens or closes them has the last word.

import { h, icon } from "../../lib/dom.js";
import { Markdown } from "../../render/markdown.js";

export function reasoningView(item, { session }) {
  const words = h("span", {}), markdown = new Markdown();
  const summary = h("summary", {}, icon("think"), words);
  const body = h("div", { class: "body" }, markdown.node);
  const node = h("details", { class: "reasoning", dataset: { testid: "reasoning" } }, summary, body);
  let touched = false;
  summary.addEventListener("click", () => { touched = true; });
  return {
    node,
    update(now, hasTime) {
      const supported = session.capabilities.value.reasoning?.supported;
      node.hidden = supported === false || (!now.text && !now.open && !now.encrypted);
      words.textContent = now.open ? "Thinking…" : now.text ? "Thought" : "Thought, encrypted by the model's provider";
      node.classList.toggle("live", now.open);
      if (!touched) node.open = now.open;
      const more = markdown.update(now.text, now.open, hasTime);
      if (now.open) body.scrollTop = body.scrollHeight;
      return more;
    },
  };
}
