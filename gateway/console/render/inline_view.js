// The inline part of Markdown (emphasis, links, code, images) as nodes.

import { h } from "../lib/dom.js";
import { parseInline } from "./inline.js";

const MAX_DEPTH = 24; // deeper emphasis is parsed but not shown

/** Text with emphasis, links, code and images, as nodes. */
export function inlineNodes(text, live = false) {
  const root = document.createDocumentFragment(), stack = [root];
  let hidden = 0;
  for (const token of parseInline(text, live)) {
    if (token.open && stack.length > MAX_DEPTH) hidden += 1;
    else if (token.open) stack.push(stack.at(-1).appendChild(elementFor(token)));
    else if (token.close && hidden) hidden -= 1;
    else if (token.close) stack.pop();
    else stack.at(-1).append(leafFor(token));
  }
  return root;
}

function elementFor({ open, href, title }) {
  if (open !== "link") return h(open);
  return href ? h("a", { href, title, target: "_blank", rel: "noopener noreferrer" })
    : h("span", { class: "md-dead", title: "The console does not open this address." });
}

function leafFor({ text, code, image, br }) {
  if (text !== undefined) return text;
  if (code !== undefined) return h("code", {}, code);
  if (br) return h("br");
  if (image.src) return h("img", { src: image.src, alt: image.alt, loading: "lazy", decoding: "async" });
  if (image.href) return h("a", { href: image.href, target: "_blank", rel: "noopener noreferrer" }, `Image: ${image.alt || image.href}`);
  return h("span", { class: "md-dead" }, image.alt || "image");
}
