// The matrix's cells: what stands in each, and which rows and columns a wish leaves. Pure.

import { brief, same } from "../render/paths.js";

/** What a cell shows: [sign, kind]. Unknown is blank. */
export function sign(cell) {
  if (cell === undefined) return ["", "unknown"];
  if (cell.value === true) return ["✓", "yes"];
  if (cell.value === false) return ["✗", "no"];
  return [Array.isArray(cell.value) ? `[${cell.value.length}]` : brief(cell.value, 24), "value"];
}

/** Words for those who cannot see the sign, and for whoever hovers. */
export function words(path, agent, cell) {
  if (cell === undefined) return `${agent}: ${path}: unknown`;
  const value = cell.value === true ? "yes" : cell.value === false ? "no" : brief(cell.value, 200);
  return `${agent}: ${path}: ${value}, said by ${cell.layer} (${cell.source})`;
}

/** Whether these agents do not all say the same; unknown is one way to say it. */
export function differs(cells, agents) {
  const [first, ...others] = agents.map((agent) => cells[agent]?.value);
  return others.some((value) => !same(value, first));
}

/** Names and addresses differ by nature: they come last. */
export function abilitiesFirst(groups) {
  return [...groups.filter(([group]) => group !== "identity"), ...groups.filter(([group]) => group === "identity")];
}

const fits = (text, wish) => wish.toLowerCase().split(/\s+/).every((word) => text.toLowerCase().includes(word));

/** {rows: Set of paths, columns: Set of agents}. `ready`: null, or the agents that can run. */
export function chosen({ agents, leaves }, { rows = "", columns = "", differences = false, ready = null }) {
  const shown = agents.filter((agent) => fits(agent, columns) && (!ready || ready.has(agent)));
  const paths = Object.keys(leaves).filter((path) => fits(path, rows) && (!differences || differs(leaves[path], shown)));
  return { rows: new Set(paths), columns: new Set(shown) };
}
