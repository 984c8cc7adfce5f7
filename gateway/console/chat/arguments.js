// A call's arguments, to be read before they are approved. Where a text has several lines it is shown as that text, not as
// one line of JSON with \n in it: what is to be written into a file can be read like the file.

import { h } from "../lib/dom.js";
import { parsed } from "./tool_calls.js";

/** Deeper than this, it is JSON again. */
const DEEPEST = 4;

/** `args`: JSON, or whatever the agent sent in its place. */
export function argumentsView(args) {
  const given = parsed(args);
  if (given === undefined) return args ? block(args) : null;
  if (!hasLines(given)) return isEmpty(given) ? null : block(JSON.stringify(given, null, 2));
  return h("div", { class: "args-list", tabIndex: 0, role: "group", "aria-label": "Arguments" }, view(given, 0));
}

const block = (text) => h("pre", { class: "args", tabIndex: 0, "aria-label": "Arguments" }, text);
const isObject = (value) => typeof value === "object" && value !== null;
const isEmpty = (value) => isObject(value) && !Object.keys(value).length;

function hasLines(value, deep = 0) {
  if (typeof value === "string") return /[\n\r]/.test(value.trim());
  return isObject(value) && deep < DEEPEST && Object.values(value).some((inner) => hasLines(inner, deep + 1));
}

function view(value, deep) {
  if (typeof value === "string" && hasLines(value)) return h("pre", { class: "args-text", dataset: { testid: "args-text" } }, value);
  if (!hasLines(value, deep)) return h("code", {}, JSON.stringify(value));
  return Object.entries(value).map(([name, inner]) => h("div", { class: "args-one" }, h("span", { class: "small muted mono" }, name), view(inner, deep + 1)));
}
