// AG-UI's multimodal content as elements. Only embedded data is shown. Content on another host becomes a link, because the
// console sends no requests to other hosts.

import { h, icon } from "../lib/dom.js";
import { markdown } from "./markdown.js";
import { safeImage, safeLink, safeMedia } from "./url_policy.js";

const ICONS = { image: "image", audio: "mic", video: "video", document: "file" };

/** `parts`: a string, or a list of {type: text | image | audio | video | document | binary, …}. */
export function contentParts(parts) {
  const all = typeof parts === "string" ? [{ type: "text", text: parts }] : Array.isArray(parts) ? parts : [parts];
  return h("div", { class: "parts" }, all.map((part) => partView(part ?? {})));
}

function partView(part) {
  if (part.type === "text" || part.type === "input_text") return markdown(String(part.text ?? ""));
  const description = describePart(part);
  if (!description) return h("pre", { class: "part-raw" }, JSON.stringify(part, null, 2).slice(0, 4000));
  const { kind, address, name, mime } = description;
  const image = kind === "image" && safeImage(address);
  if (image) return h("figure", { class: "part" }, h("img", { src: image, alt: name || "image", loading: "lazy", decoding: "async" }),
    name && h("figcaption", {}, name));
  const media = (kind === "audio" || kind === "video") && safeMedia(address, kind);
  if (media) return h("figure", { class: "part" }, h(kind, { src: media, controls: true, preload: "metadata", "aria-label": name || kind }),
    name && h("figcaption", {}, name));
  return chip(kind, name || defaultName(kind, mime), safeLink(address), formatSize(address));
}

/** {kind, address, name, mime} of any part except text, also of the older type `binary`. */
export function describePart(part) {
  const source = part.source ?? {};
  const mime = String(part.mimeType ?? source.mimeType ?? "");
  const family = mime.split("/")[0];
  const kind = ICONS[part.type] ? part.type : part.type === "binary" ? (ICONS[family] ? family : "document") : null;
  if (!kind) return null;
  const data = source.type === "data" ? source.value : part.data, url = source.type === "url" ? source.value : part.url;
  const address = typeof data === "string" ? `data:${mime || `${kind}/*`};base64,${data}` : typeof url === "string" ? url : "";
  const name = part.filename ?? part.metadata?.filename ?? part.metadata?.name ?? source.filename ?? "";
  return { kind, address, name: String(name), mime };
}

const defaultName = (kind, mime) => (mime ? `${kind} (${mime})` : kind);

function formatSize(address) {
  if (!address.startsWith("data:")) return "";
  const bytes = Math.floor((address.length - address.indexOf(",") - 1) * 0.75);
  return bytes < 1024 ? `${bytes} B` : bytes < 1048576 ? `${Math.round(bytes / 1024)} KB` : `${(bytes / 1048576).toFixed(1)} MB`;
}

function chip(kind, name, href, note) {
  const children = [icon(ICONS[kind]), h("span", { class: "clip" }, name), note && h("span", { class: "muted" }, note)];
  return href ? h("a", { class: "part-chip", href, target: "_blank", rel: "noopener noreferrer" }, children) : h("span", { class: "part-chip" }, children);
}
