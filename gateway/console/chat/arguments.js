// Shows the arguments of a tool call before the user approves it. A text with several lines is shown as text, not as JSON with
// \n in it, so that the content of a file can be read like the file.

import { h } from "../lib/dom.js";
import { parseArguments } from "./tool_calls.js";

/** Deeper values are shown as JSON. */
const MAX_DEPTH = 4;

/** `args`: JSON, or any other text that the agent sent. */
export function argumentsView(args) {
  const value = parseArguments(args);
  if (value === undefined) return args ? block(args) : null;
  if (!hasLines(value)) return isEmpty(value) ? null : block(JSON.stringify(value, null, 2));
  return h("div", { class: "args-list", tabIndex: 0, role: "group", "aria-label": "Arguments" }, valueView(value, 0));
}

const block = (text) => h("pre", { class: "args", tabIndex: 0, "aria-label": "Arguments" }, text);
const isObject = (value) => typeof value === "object" && value !== null;
const isEmpty = (value) => isObject(value) && !Object.keys(value).length;

function hasLines(value, depth = 0) {
  if (typeof value === "string") return /[\n\r]/.test(value.trim());
  return isObject(value) && depth < MAX_DEPTH && Object.values(value).some((inner) => hasLines(inner, depth + 1));
}

function valueView(value, depth) {
  if (typeof value === "string" && hasLines(value)) return h("pre", { class: "args-text", dataset: { testid: "args-text" } }, value);
  if (!hasLines(value, depth)) return h("code", {}, JSON.stringify(value));
  return Object.entries(value).map(([name, inner]) => h("div", { class: "args-member" }, h("span", { class: "small muted mono" }, name),
    valueView(inner, depth + 1)));
}
