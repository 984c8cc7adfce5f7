// The inspector tab with the agent's tools, the console's tools, the subagents and the commands.

import { fill, h } from "../lib/dom.js";
import { acceptsClientTools, readSession, readSubagents, readTools } from "./capabilities.js";
import { CONSOLE_TOOLS } from "./client_tools.js";

export function toolsTab(session) {
  const node = h("div", { class: "pad stack" });
  let drawn;
  return {
    node,
    update() {
      const capabilities = session.capabilities.value;
      if (drawn === capabilities) return;
      drawn = capabilities;
      const groups = [
        group("Agent tools", readTools(capabilities).map((tool) => row(tool.name, tool.description, tool.parameters))),
        acceptsClientTools(capabilities) && group("Console tools",
          CONSOLE_TOOLS.map(({ tool }) => row(tool.name, tool.description, tool.parameters)), offerCheckbox(session)),
        group("Subagents", readSubagents(capabilities).map(({ name, description }) => row(name, description))),
        group("Commands", readSession(capabilities).commands.map(({ name, description }) => row(`/${name}`, description))),
      ].filter(Boolean);
      fill(node, groups.length ? groups : h("p", { class: "empty" }, "The snapshot lists no tools, subagents or commands."));
    },
  };
}

function group(title, rows, header) {
  return rows.length ? h("section", { class: "stack tight" }, h("h3", {}, title), header, h("ul", { class: "tool-list" }, rows)) : null;
}

function row(name, about, parameters) {
  return h("li", {}, h("code", {}, name), h("span", { class: "muted small" }, about ?? ""),
    parameters && h("details", {}, h("summary", { class: "small" }, "Parameters"), h("pre", {}, JSON.stringify(parameters, null, 2))));
}

function offerCheckbox(session) {
  const box = h("input", { type: "checkbox", checked: session.offersTools.value, on: { change: () => (session.offersTools.value = box.checked) } });
  return h("label", { class: "row small" }, box, "Offer these tools in every run");
}
