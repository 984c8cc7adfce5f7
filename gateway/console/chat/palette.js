// The command palette (Ctrl+K): all actions of the chat page, found by typing.

import { fill, h, openDialog } from "../lib/dom.js";
import { readSession } from "./capabilities.js";

const MAX_CHOICES = 40; // of one picker

/** actions: [{name, about, group, run}] */
export function openPalette(actions) {
  const input = h("input", { type: "text", placeholder: "Type a command", "aria-label": "Find a command", role: "combobox", "aria-expanded": "true",
    "aria-controls": "palette-list", autocomplete: "off" });
  const list = h("ul", { class: "palette", role: "listbox", id: "palette-list", "aria-label": "Commands" });
  let matches = actions, selected = 0;
  const opened = openDialog("Commands", (close) => {
    const runAction = (action) => { close(); action?.run(); };
    const draw = () => {
      fill(list, matches.map((action, index) => h("li", {
        role: "option", id: `palette-${index}`, "aria-selected": index === selected ? "true" : "false", on: { click: () => runAction(action) },
      }, h("span", { class: "grow" }, action.name), h("span", { class: "muted small clip" }, action.about ?? ""), h("span", { class: "tag" }, action.group))));
      input.setAttribute("aria-activedescendant", `palette-${selected}`);
      list.children[selected]?.scrollIntoView({ block: "nearest" });
    };
    input.addEventListener("input", () => { matches = filterActions(actions, input.value); selected = 0; draw(); });
    input.addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (step && matches.length) { selected = (selected + step + matches.length) % matches.length; draw(); event.preventDefault(); }
      if (event.key === "Enter") { event.preventDefault(); runAction(matches[selected]); }
    });
    draw();
    queueMicrotask(() => input.focus());
    return h("div", { class: "stack" }, input, list);
  });
  return opened;
}

export function filterActions(actions, typed) {
  const terms = typed.toLowerCase().split(/\s+/).filter(Boolean);
  return actions.filter(({ name, about = "", group }) => terms.every((term) => `${name} ${about} ${group}`.toLowerCase().includes(term)));
}

/** The actions of the agent: its commands, and each choice of each picker. */
export function agentActions(session, pickers, write) {
  const commands = readSession(session.capabilities.value).commands.map(({ name, description }) => ({ name: `/${name}`, about: description,
    group: "agent", run: () => write(`/${name} `) }));
  const options = pickers.flatMap((picker) => picker.options.filter(({ id }) => id !== picker.current).slice(0, MAX_CHOICES)
    .map(({ id, name, description }) => ({ name: `${picker.name}: ${name ?? id}`, about: description, group: "session",
      run: () => session.selectOption(picker, id).catch(() => {}) })));
  return [...commands, ...options];
}
