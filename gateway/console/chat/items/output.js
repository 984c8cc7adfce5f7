// What a command prints, as it prints it.

import { h } from "../../lib/dom.js";
import { Terminal } from "../../render/terminal.js";

/** A view of one `terminal` or `tool_output` activity: only what is new is written. */
export function output(item, title = "") {
  const terminal = new Terminal({ title: item.content.command ?? title });
  let pieces = null, written = 0, ended = false;
  const finish = (code) => { if (!ended) { ended = true; terminal.finish(code); } };
  return {
    node: h("div", { class: "output", dataset: { testid: "terminal" } }, terminal.node),
    finish,
    update({ content }) {
      const told = Array.isArray(content.output) ? content.output : [];
      if (told !== pieces && written > 0 && !goesOn(pieces, told, written)) { terminal.set(""); written = 0; }
      pieces = told;
      const fresh = told.slice(written).join("");
      written = told.length;
      if (fresh) terminal.write(fresh);
      if (typeof content.exitCode === "number") finish(content.exitCode);
    },
  };
}

/** A copy of the same list with more behind it. */
const goesOn = (before, now, written) => now.length >= written && before.slice(0, written).every((piece, index) => piece === now[index]);
