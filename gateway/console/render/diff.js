// Diffs as tables of lines: numbers, what came and what went, long unchanged parts folded away.

import { fill, h, icon } from "../lib/dom.js";
import { copyButton } from "./copy.js";
import { changes, patch } from "./line_diff.js";

const CONTEXT = 3; // unchanged lines kept around each change
const MOST = 1500; // rows at once
const LONGEST = 600_000; // characters that are compared at all
const WIDEST = 2000; // characters of one line

/** `{path, oldText, newText}`, as ACP tells a change of a file. No oldText: the file is new. */
export function diffView({ path, oldText, newText }) {
  const before = oldText ?? "", after = newText ?? "";
  if (before.length + after.length > LONGEST) return frame(path, null, h("p", { class: "diff-note" }, `Too long to compare (${before.length} → ${after.length} characters).`));
  const rows = changes(before, after);
  return frame(path, rows, table(folded(rows)), { fresh: oldText === undefined || oldText === null, copy: after });
}

/** A unified diff, of one file or many. */
export function patchView(text) {
  const files = patch(text.slice(0, LONGEST));
  return h("div", { class: "diffs" }, files.map((file) => {
    const rows = file.hunks.flatMap((hunk, index) => [...(index || hunk.title ? [{ gap: true, title: hunk.title }] : []), ...hunk.lines]);
    return frame(file.path, rows, table(rows), { copy: text });
  }), text.length > LONGEST && h("p", { class: "diff-note" }, `${text.length - LONGEST} more characters are not shown.`));
}

function frame(path, rows, body, { fresh = false, copy } = {}) {
  const count = (kind) => (rows ?? []).filter((row) => row.kind === kind).length;
  return h("div", { class: "diff" }, h("div", { class: "diff-bar" }, icon("file"), h("span", { class: "mono clip grow", title: path }, path || "diff"),
    fresh && h("span", { class: "tag" }, "new"), rows && sums(count("+"), count("-")), copy && copyButton(copy, fresh ? "Copy the file" : "Copy")), body);
}

function sums(added, removed) {
  return h("span", { class: "diff-sums mono" }, h("span", { class: "add", "aria-label": `${added} lines added` }, `+${added}`), " ", h("span", { class: "del", "aria-label": `${removed} lines removed` }, `−${removed}`));
}

/** Rows, and in place of long unchanged stretches {fold: rows}. */
function folded(rows) {
  const near = new Uint8Array(rows.length);
  let last = -Infinity;
  rows.forEach((row, at) => { if (row.kind !== " ") last = at; if (at - last <= CONTEXT) near[at] = 1; });
  last = Infinity;
  for (let at = rows.length - 1; at >= 0; at -= 1) { if (rows[at].kind !== " ") last = at; if (last - at <= CONTEXT) near[at] = 1; }
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
    body.append(...rows.slice(from, from + MOST).map(line));
    if (rows.length > from + MOST) body.append(wide(`Show ${Math.min(MOST, rows.length - from - MOST)} more of ${rows.length - from - MOST} lines`, (row) => { row.remove(); show(from + MOST); }));
  };
  show(0);
  return h("div", { class: "diff-body", tabIndex: 0, role: "group", "aria-label": "Changes" }, h("table", {}, body));
}

function line(row) {
  if (row.fold) return wide(`${row.fold.length} unchanged lines`, (node) => node.replaceWith(...row.fold.slice(0, MOST * 4).map(line)));
  if (row.gap) return h("tr", { class: "gap" }, h("td", { colSpan: 4 }, row.title || "⋯"));
  const kind = { "+": "add", "-": "del" }[row.kind] ?? "";
  return h("tr", { class: kind }, h("td", { class: "no" }, row.old), h("td", { class: "no" }, row.new),
    h("td", { class: "sign" }, row.kind === " " ? "" : h("span", { "aria-label": kind === "add" ? "added" : "removed" }, row.kind === "-" ? "−" : "+")), h("td", { class: "line" }, row.text.length > WIDEST ? `${row.text.slice(0, WIDEST)}…` : row.text));
}

function wide(words, act) {
  const button = h("button", { type: "button", class: "btn quiet" }, words), row = h("tr", { class: "fold" }, fill(h("td", { colSpan: 4 }), button));
  button.addEventListener("click", () => act(row));
  return row;
}
