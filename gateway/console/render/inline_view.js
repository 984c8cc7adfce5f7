// A line of Markdown, as nodes.

import { h } from "../lib/dom.js";
import { inline } from "./inline.js";

const DEEPEST = 24; // emphasis within emphasis: beyond, it is read but not shown

/** Text with emphasis, links, code and images, as nodes. */
export function inlineNodes(text, live = false) {
  const root = document.createDocumentFragment(), stack = [root];
  let hidden = 0;
  for (const token of inline(text, live)) {
    if (token.open && stack.length > DEEPEST) hidden += 1;
    else if (token.open) stack.push(stack.at(-1).appendChild(opened(token)));
    else if (token.close && hidden) hidden -= 1;
    else if (token.close) stack.pop();
    else stack.at(-1).append(leaf(token));
  }
  return root;
}

function opened({ open, href, title }) {
  if (open !== "link") return h(open);
  return href ? h("a", { href, title, target: "_blank", rel: "noopener noreferrer" }) : h("span", { class: "md-dead", title: "This address is not one to open from here." });
}

function leaf({ text, code, image, br }) {
  if (text !== undefined) return text;
  if (code !== undefined) return h("code", {}, code);
  if (br) return h("br");
  if (image.src) return h("img", { src: image.src, alt: image.alt, loading: "lazy", decoding: "async" });
  if (image.href) return h("a", { href: image.href, target: "_blank", rel: "noopener noreferrer" }, `Image: ${image.alt || image.href}`);
  return h("span", { class: "md-dead" }, image.alt || "image");
}
