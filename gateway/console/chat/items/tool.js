// A tool call, from its first argument to its result. Collapsed to one line when it is over, unless it shows a change.

import { fill, h, icon } from "../../lib/dom.js";
import { diffView, patchView } from "../../render/diff.js";
import { contentParts } from "../../render/content.js";
import { callStatus, readDiffs, summarizeArguments } from "../tool_calls.js";
import { outputView } from "./output.js";

const STATUS_LABELS = { writing: ["", ""], running: ["", ""], done: ["done", "good"], failed: ["failed", "bad"],
  waiting: ["waiting for you", "warn"], denied: ["denied", ""], expired: ["expired", ""], cancelled: ["cancelled", ""], unknown: ["no result", ""] };
const MAX_RESULT_CHARS = 4000;

export function toolView(item, { session }) {
  const name = h("strong", {}), short = h("code", { class: "muted clip grow" }), tag = h("span", { class: "tag" });
  const args = h("pre", { class: "args", "aria-label": "Arguments" }), outputs = h("div", { class: "stack" }), diffs = h("div", { class: "stack" }),
    result = h("div", { class: "result" });
  const summary = h("summary", {}, icon("tool"), name, short, tag);
  const node = h("details", { class: "tool", dataset: { testid: "tool-call" } }, summary, h("div", { class: "body stack" }, args, outputs, diffs, result));
  const outputViews = new Map();
  let isTouched = false, drawn = {};
  summary.addEventListener("click", () => { isTouched = true; });

  function drawSummary(now) {
    const status = callStatus(now, session.model), [label, kind] = STATUS_LABELS[status] ?? [status, ""];
    const titled = Object.values(now.meta).find((data) => typeof data?.title === "string");
    name.textContent = now.name || "tool";
    short.textContent = titled?.title ?? summarizeArguments(now.args);
    node.dataset.status = status;
    tag.className = `tag ${kind}`;
    fill(tag, status === "running" || status === "writing" ? [h("span", { class: "spin" }), h("span", { class: "sr" }, status)] : label);
    return status;
  }

  function drawBody(now, status) {
    if (drawn.args !== now.args || drawn.open !== now.open) {
      Object.assign(drawn, { args: now.args, open: now.open });
      args.textContent = formatArguments(now.args, now.open);
    }
    for (const activity of now.outputs) {
      if (!outputViews.has(activity.key)) {
        outputViews.set(activity.key, outputView(activity, summarizeArguments(now.args)));
        outputs.append(outputViews.get(activity.key).node);
      }
      outputViews.get(activity.key).update(activity);
      if (now.result !== undefined) outputViews.get(activity.key).finish(exitCode(now));
    }
    const diffKey = `${now.meta === drawn.meta} ${now.open}`;
    if (drawn.diffKey !== diffKey || drawn.meta !== now.meta) {
      Object.assign(drawn, { diffKey, meta: now.meta });
      const changes = readDiffs(now);
      drawn.diffs = changes.length;
      fill(diffs, changes.map((diff) => (diff.patch === undefined ? diffView(diff) : patchView(diff.patch))));
    }
    args.hidden = !now.args || now.args === "{}" || drawn.diffs > 0;
    if (drawn.result !== now.result) { drawn.result = now.result; fill(result, drawResult(now, drawn.diffs, outputViews.size)); }
    if (!isTouched) node.open = drawn.diffs > 0 || hasMedia(now.result) || (outputViews.size > 0 && status === "running");
  }

  return {
    node,
    update(now) {
      const status = drawSummary(now);
      drawBody(now, status);
      node.classList.toggle("retracted", Boolean(now.retracted));
    },
  };
}

const exitCode = ({ meta }) => Object.values(meta).map((data) => data?.exitCode).find((code) => typeof code === "number") ?? null;

const hasMedia = (result) => Array.isArray(result) && result.some((part) => part?.type !== "text");

/** Complete JSON is indented; incomplete JSON is shown as received. */
function formatArguments(args, open) {
  if (open) return args;
  try { return JSON.stringify(JSON.parse(args), null, 2); } catch { return args; }
}

/** The result, unless a diff or a terminal already shows it. */
function drawResult({ result, error }, diffCount, outputCount) {
  if (result === undefined) return null;
  if (Array.isArray(result)) return contentParts(result);
  const text = error ? `${error}\n${result}` : result;
  if (!text || outputCount > 0 || (diffCount > 0 && text.startsWith("---"))) return null;
  const isLong = text.length > MAX_RESULT_CHARS, body = h("pre", { "aria-label": "Result" }, isLong ? text.slice(0, MAX_RESULT_CHARS) : text);
  const more = isLong && h("button", { class: "btn quiet", on: { click: () => { body.textContent = text; more.remove(); } } },
    `Show all ${text.length.toLocaleString("en")} characters`);
  return [body, more];
}
