// A tool call, from its first argument to its result: folded to one line once it is over, unless it shows a change.

import { fill, h, icon } from "../../lib/dom.js";
import { diffView, patchView } from "../../render/diff.js";
import { contentParts } from "../../render/content.js";
import { diffsOf, inShort, statusOf } from "../tool_calls.js";
import { output } from "./output.js";

const STATUS = { writing: ["", ""], running: ["", ""], done: ["done", "good"], failed: ["failed", "bad"], waiting: ["waits for you", "warn"], cancelled: ["cancelled", ""], unknown: ["no result", ""] };
const RESULT_CHARS = 4000;

export function toolView(item, { session }) {
  const name = h("strong", {}), short = h("code", { class: "muted clip grow" }), tag = h("span", { class: "tag" });
  const args = h("pre", { class: "args", "aria-label": "Arguments" }), outputs = h("div", { class: "stack" }), diffs = h("div", { class: "stack" }), result = h("div", { class: "result" });
  const summary = h("summary", {}, icon("tool"), name, short, tag);
  const node = h("details", { class: "tool", dataset: { testid: "tool-call" } }, summary, h("div", { class: "body stack" }, args, outputs, diffs, result));
  const prints = new Map();
  let touched = false, drawn = {};
  summary.addEventListener("click", () => { touched = true; });

  function show(now) {
    const status = statusOf(now, session.model), [words, kind] = STATUS[status] ?? [status, ""];
    const about = Object.values(now.meta).find((told) => typeof told?.title === "string");
    name.textContent = now.name || "tool";
    short.textContent = about?.title ?? inShort(now.args);
    node.dataset.status = status;
    tag.className = `tag ${kind}`;
    fill(tag, status === "running" || status === "writing" ? [h("span", { class: "spin" }), h("span", { class: "sr" }, status)] : words);
    return status;
  }

  function inside(now, status) {
    if (drawn.args !== now.args || drawn.open !== now.open) { Object.assign(drawn, { args: now.args, open: now.open }); args.textContent = pretty(now.args, now.open); }
    for (const one of now.outputs) {
      if (!prints.has(one.key)) { prints.set(one.key, output(one, inShort(now.args))); outputs.append(prints.get(one.key).node); }
      prints.get(one.key).update(one);
      if (now.result !== undefined) prints.get(one.key).finish(exitCode(now));
    }
    const done = `${now.meta === drawn.meta} ${now.open}`;
    if (drawn.done !== done || drawn.meta !== now.meta) {
      Object.assign(drawn, { done, meta: now.meta });
      const found = diffsOf(now);
      drawn.diffs = found.length;
      fill(diffs, found.map((diff) => (diff.patch === undefined ? diffView(diff) : patchView(diff.patch))));
    }
    args.hidden = !now.args || now.args === "{}" || drawn.diffs > 0;
    if (drawn.result !== now.result) { drawn.result = now.result; fill(result, drawResult(now, drawn.diffs, prints.size)); }
    if (!touched) node.open = drawn.diffs > 0 || pictures(now.result) || (prints.size > 0 && status === "running");
  }

  return {
    node,
    update(now) {
      const status = show(now);
      inside(now, status);
      node.classList.toggle("retracted", Boolean(now.retracted));
    },
  };
}

const exitCode = ({ meta }) => Object.values(meta).map((told) => told?.exitCode).find((code) => typeof code === "number") ?? null;

const pictures = (result) => Array.isArray(result) && result.some((part) => part?.type !== "text");

/** Whole JSON in lines; what is still being written as it stands. */
function pretty(args, open) {
  if (open) return args;
  try { return JSON.stringify(JSON.parse(args), null, 2); } catch { return args; }
}

/** The text of a result repeats what diff and terminal show better. */
function drawResult({ result, error }, diffs, prints) {
  if (result === undefined) return null;
  if (Array.isArray(result)) return contentParts(result);
  const words = error ? `${error}\n${result}` : result;
  if (!words || prints > 0 || (diffs > 0 && words.startsWith("---"))) return null;
  const short = words.length > RESULT_CHARS, body = h("pre", { "aria-label": "Result" }, short ? words.slice(0, RESULT_CHARS) : words);
  const more = short && h("button", { class: "btn quiet", on: { click: () => { body.textContent = words; more.remove(); } } }, `Show all ${words.length.toLocaleString("en")} characters`);
  return [body, more];
}
