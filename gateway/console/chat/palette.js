// Ctrl+K: everything that can be done here, found by typing.

import { fill, h, openDialog } from "../lib/dom.js";
import { session as facts } from "./capabilities.js";

/** actions: [{name, about, group, run}] */
export function openPalette(actions) {
  const input = h("input", { type: "text", placeholder: "What would you like to do?", "aria-label": "Find a command", role: "combobox", "aria-expanded": "true", "aria-controls": "palette-list", autocomplete: "off" });
  const list = h("ul", { class: "palette", role: "listbox", id: "palette-list", "aria-label": "Commands" });
  let found = actions, at = 0;
  const opened = openDialog("Commands", (close) => {
    const take = (action) => { close(); action?.run(); };
    const draw = () => {
      fill(list, found.map((action, index) => h("li", {
        role: "option", id: `palette-${index}`, "aria-selected": index === at ? "true" : "false", on: { click: () => take(action) },
      }, h("span", { class: "grow" }, action.name), h("span", { class: "muted small clip" }, action.about ?? ""), h("span", { class: "tag" }, action.group))));
      input.setAttribute("aria-activedescendant", `palette-${at}`);
      list.children[at]?.scrollIntoView({ block: "nearest" });
    };
    input.addEventListener("input", () => { found = filtered(actions, input.value); at = 0; draw(); });
    input.addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (step && found.length) { at = (at + step + found.length) % found.length; draw(); event.preventDefault(); }
      if (event.key === "Enter") { event.preventDefault(); take(found[at]); }
    });
    draw();
    queueMicrotask(() => input.focus());
    return h("div", { class: "stack" }, input, list);
  });
  return opened;
}

export function filtered(actions, typed) {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  return actions.filter(({ name, about = "", group }) => words.every((word) => `${name} ${about} ${group}`.toLowerCase().includes(word)));
}

/** What the agent offers: its commands, and each choice of each picker. */
export function offers(session, pickers, write) {
  const commands = facts(session.capabilities.value).commands.map(({ name, description }) => ({ name: `/${name}`, about: description, group: "agent", run: () => write(`/${name} `) }));
  const choices = pickers.flatMap((picker) => picker.options.filter(({ id }) => id !== picker.current).slice(0, 40)
    .map(({ id, name, description }) => ({ name: `${picker.name}: ${name ?? id}`, about: description, group: "session", run: () => session.choose(picker, id).catch(() => {}) })));
  return [...commands, ...choices];
}
