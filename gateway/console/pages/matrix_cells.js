// The cells of the matrix: the mark and the label of each, and which rows and columns a filter shows. Pure: no DOM, no network.

import { isEqual, summarize } from "../render/paths.js";

/** [text, kind] of a cell. An unknown value is blank. */
export function cellMark(cell) {
  if (cell === undefined) return ["", "unknown"];
  if (cell.value === true) return ["✓", "yes"];
  if (cell.value === false) return ["✗", "no"];
  return [Array.isArray(cell.value) ? `[${cell.value.length}]` : summarize(cell.value, 24), "value"];
}

/** The text for screen readers and for the tooltip. */
export function cellLabel(path, agent, cell) {
  if (cell === undefined) return `${agent}: ${path}: unknown`;
  const value = cell.value === true ? "yes" : cell.value === false ? "no" : summarize(cell.value, 200);
  return `${agent}: ${path}: ${value}, source: ${cell.layer} (${cell.source})`;
}

/** Whether the values of these agents differ. An unknown value differs from a known one. */
export function differs(cells, agents) {
  const [first, ...others] = agents.map((agent) => cells[agent]?.value);
  return others.some((value) => !isEqual(value, first));
}

/** Moves the identity group to the end, because names always differ. */
export function identityLast(groups) {
  return [...groups.filter(([group]) => group !== "identity"), ...groups.filter(([group]) => group === "identity")];
}

const containsAll = (text, query) => query.toLowerCase().split(/\s+/).every((term) => text.toLowerCase().includes(term));

/** {rows: Set of paths, columns: Set of agents} that match the filter. `ready`: null, or the agents that can run. */
export function filterMatrix({ agents, leaves: matrixRows }, { rows = "", columns = "", differences = false, ready = null }) {
  const shown = agents.filter((agent) => containsAll(agent, columns) && (!ready || ready.has(agent)));
  const paths = Object.keys(matrixRows).filter((path) => containsAll(path, rows) && (!differences || differs(matrixRows[path], shown)));
  return { rows: new Set(paths), columns: new Set(shown) };
}
