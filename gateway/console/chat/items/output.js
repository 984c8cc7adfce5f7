// Live output of a command.

import { h } from "../../lib/dom.js";
import { Terminal } from "../../render/terminal.js";

/** A view of one `terminal` or `tool_output` activity. Writes only the new part of the output. */
export function outputView(item, title = "") {
  const terminal = new Terminal({ title: item.content.command ?? title });
  let pieces = null, written = 0, isFinished = false;
  const finish = (code) => { if (!isFinished) { isFinished = true; terminal.finish(code); } };
  return {
    node: h("div", { class: "output", dataset: { testid: "terminal" } }, terminal.node),
    finish,
    update({ content }) {
      const newPieces = Array.isArray(content.output) ? content.output : [];
      if (newPieces !== pieces && written > 0 && !continues(pieces, newPieces, written)) { terminal.set(""); written = 0; }
      pieces = newPieces;
      const text = newPieces.slice(written).join("");
      written = newPieces.length;
      if (text) terminal.write(text);
      if (typeof content.exitCode === "number") finish(content.exitCode);
    },
  };
}

/** Whether `now` starts with the pieces that were written. */
const continues = (before, now, written) => now.length >= written && before.slice(0, written).every((piece, index) => piece === now[index]);
