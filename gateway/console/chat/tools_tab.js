// What the agent can call and whom it can send: its tools, the page's own, its helpers, its commands.

import { fill, h } from "../lib/dom.js";
import { session as facts, subagents, takesTools, tools } from "./capabilities.js";
import { OWN_TOOLS } from "./client_tools.js";

export function toolsTab(session) {
  const node = h("div", { class: "pad stack" });
  let shown;
  return {
    node,
    update() {
      const capabilities = session.capabilities.value;
      if (shown === capabilities) return;
      shown = capabilities;
      const found = [
        group("Tools of the agent", tools(capabilities).map((tool) => row(tool.name, tool.description, tool.parameters))),
        takesTools(capabilities) && group("Tools of this page", OWN_TOOLS.map(({ tool }) => row(tool.name, tool.description, tool.parameters)), offering(session)),
        group("Helpers", subagents(capabilities).map(({ name, description }) => row(name, description))),
        group("Commands", facts(capabilities).commands.map(({ name, description }) => row(`/${name}`, description))),
      ].filter(Boolean);
      fill(node, found.length ? found : h("p", { class: "empty" }, "The snapshot tells of no tools, helpers or commands."));
    },
  };
}

function group(title, rows, more) {
  return rows.length ? h("section", { class: "stack tight" }, h("h3", {}, title), more, h("ul", { class: "facts" }, rows)) : null;
}

function row(name, about, parameters) {
  return h("li", {}, h("code", {}, name), h("span", { class: "muted small" }, about ?? ""),
    parameters && h("details", {}, h("summary", { class: "small" }, "parameters"), h("pre", {}, JSON.stringify(parameters, null, 2))));
}

function offering(session) {
  const box = h("input", { type: "checkbox", checked: session.offersTools.value, on: { change: () => (session.offersTools.value = box.checked) } });
  return h("label", { class: "row small" }, box, "Offered with every run");
}
