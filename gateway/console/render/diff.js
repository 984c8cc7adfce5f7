// Diffs as tables of lines: line numbers, added and removed lines, and collapsed stretches of unchanged lines.

import { fill, h, icon } from "../lib/dom.js";
import { copyButton } from "./copy.js";
import { diffLines, parsePatch } from "./line_diff.js";

const CONTEXT_LINES = 3;
const PAGE_ROWS = 1500;
const MAX_CHARS = 600_000; // longer texts are not compared
const MAX_LINE_CHARS = 2000;

/** `{path, oldText, newText}`, as in ACP's diff content. No oldText: the file is new. */
export function diffView({ path, oldText, newText }) {
  const before = oldText ?? "", after = newText ?? "";
  if (before.length + after.length > MAX_CHARS) return frame(path, null,
    h("p", { class: "diff-note" }, `The texts are too long to compare (${before.length} → ${after.length} characters).`));
  const rows = diffLines(before, after);
  return frame(path, rows, table(collapseUnchanged(rows)), { isNew: oldText === undefined || oldText === null, copy: after });
}

/** A unified diff of one or more files. */
export function patchView(text) {
  const files = parsePatch(text.slice(0, MAX_CHARS));
  return h("div", { class: "diffs" }, files.map((file) => {
    const rows = file.hunks.flatMap((hunk, index) => [...(index || hunk.title ? [{ gap: true, title: hunk.title }] : []), ...hunk.lines]);
    return frame(file.path, rows, table(rows), { copy: text });
  }), text.length > MAX_CHARS && h("p", { class: "diff-note" }, `${text.length - MAX_CHARS} more characters are not shown.`));
}

function frame(path, rows, body, { isNew = false, copy } = {}) {
  const count = (kind) => (rows ?? []).filter((row) => row.kind === kind).length;
  return h("div", { class: "diff" }, h("div", { class: "diff-bar" }, icon("file"), h("span", { class: "mono clip grow", title: path }, path || "diff"),
    isNew && h("span", { class: "tag" }, "new"), rows && changeCounts(count("+"), count("-")),
      copy && copyButton(copy, isNew ? "Copy the file" : "Copy")), body);
}

function changeCounts(added, removed) {
  return h("span", { class: "diff-sums mono" }, h("span", { class: "add", "aria-label": `${added} lines added` }, `+${added}`), " ",
    h("span", { class: "del", "aria-label": `${removed} lines removed` }, `−${removed}`));
}

/** The rows, with {fold: rows} in place of long unchanged stretches. */
function collapseUnchanged(rows) {
  const near = new Uint8Array(rows.length);
  let last = -Infinity;
  rows.forEach((row, at) => { if (row.kind !== " ") last = at; if (at - last <= CONTEXT_LINES) near[at] = 1; });
  last = Infinity;
  for (let at = rows.length - 1; at >= 0; at -= 1) { if (rows[at].kind !== " ") last = at; if (last - at <= CONTEXT_LINES) near[at] = 1; }
  const shown = [];
  rows.forEach((row, at) => {
    if (near[at]) shown.push(row);
    else if (shown.at(-1)?.fold) shown.at(-1).fold.push(row);
    else shown.push({ fold: [row] });
  });
  return shown.flatMap((row) => (row.fold && row.fold.length < 3 ? row.fold : [row]));
}

function table(rows) {
  const body = h("tbody");
  const show = (from) => {
    body.append(...rows.slice(from, from + PAGE_ROWS).map(lineRow));
    if (rows.length > from + PAGE_ROWS) body.append(actionRow(`Show ${Math.min(PAGE_ROWS, rows.length - from - PAGE_ROWS)} more of ${rows.length - from - PAGE_ROWS} lines`, (row) => { row.remove(); show(from + PAGE_ROWS); }));
  };
  show(0);
  return h("div", { class: "diff-body", tabIndex: 0, role: "group", "aria-label": "Changes" }, h("table", {}, body));
}

function lineRow(row) {
  if (row.fold) return actionRow(`${row.fold.length} unchanged lines`, (node) => node.replaceWith(...row.fold.slice(0, PAGE_ROWS * 4).map(lineRow)));
  if (row.gap) return h("tr", { class: "gap" }, h("td", { colSpan: 4 }, row.title || "⋯"));
  const kind = { "+": "add", "-": "del" }[row.kind] ?? "";
  return h("tr", { class: kind }, h("td", { class: "no" }, row.old), h("td", { class: "no" }, row.new),
    h("td", { class: "sign" }, row.kind === " " ? ""
      : h("span", { "aria-label": kind === "add" ? "added" : "removed" }, row.kind === "-" ? "−" : "+")),
      h("td", { class: "line" }, row.text.length > MAX_LINE_CHARS ? `${row.text.slice(0, MAX_LINE_CHARS)}…` : row.text));
}

function actionRow(label, act) {
  const button = h("button", { type: "button", class: "btn quiet" }, label), row = h("tr", { class: "fold" }, fill(h("td", { colSpan: 4 }), button));
  button.addEventListener("click", () => act(row));
  return row;
}
