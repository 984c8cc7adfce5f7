// Completes the commands of the agent while a message starts with "/".

import { fill, h } from "../lib/dom.js";
import { readSession } from "./capabilities.js";

const MAX_MATCHES = 8;
let listCount = 0;

export class Completion {
  constructor(session, input) {
    Object.assign(this, { session, input, matches: [], selected: 0 });
    this.id = `commands-${(listCount += 1)}`;
    this.node = h("ul", { class: "completion", role: "listbox", id: this.id, "aria-label": "Commands", hidden: true });
    input.setAttribute("aria-controls", this.id);
    input.setAttribute("aria-autocomplete", "list");
    input.setAttribute("aria-haspopup", "listbox");
    input.addEventListener("blur", () => setTimeout(() => this.#close(), 150));
  }

  update() {
    const typed = this.input.value.match(/^\/([^\s]*)$/);
    this.matches = typed ? matchCommands(readSession(this.session.capabilities.value).commands, typed[1]).slice(0, MAX_MATCHES) : [];
    this.selected = 0;
    this.#draw();
  }

  /** Returns true if the list handled the key. */
  onKey(event) {
    if (this.node.hidden) return false;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) this.selected = (this.selected + step + this.matches.length) % this.matches.length;
    else if (event.key === "Enter" && this.input.value === `/${this.matches[this.selected].name}`) return this.#close(); // complete: the composer sends it
    else if (event.key === "Enter" || event.key === "Tab") this.#accept(this.matches[this.selected]);
    else if (event.key === "Escape") this.#close();
    else return false;
    event.preventDefault();
    if (step) this.#draw();
    return true;
  }

  #draw() {
    this.node.hidden = !this.matches.length;
    fill(this.node, this.matches.map((command, index) => h("li", {
      role: "option", id: `${this.id}-${index}`, "aria-selected": index === this.selected ? "true" : "false",
      on: { mousedown: (event) => { event.preventDefault(); this.#accept(command); } },
    }, h("code", {}, `/${command.name}`), command.hint && h("span", { class: "muted small" }, command.hint),
      h("span", { class: "muted clip" }, command.description ?? ""))));
    if (this.node.hidden) this.input.removeAttribute("aria-activedescendant");
    else this.input.setAttribute("aria-activedescendant", `${this.id}-${this.selected}`);
  }

  #accept(command) {
    this.input.value = `/${command.name} `;
    this.#close();
  }

  #close() {
    this.matches = [];
    this.#draw();
    return false;
  }
}

/** Exact matches first, then commands that start with the text, then commands that contain it. */
export function matchCommands(commands, typed) {
  const query = typed.toLowerCase();
  const rank = ({ name }) => {
    const index = name.toLowerCase().indexOf(query);
    return index < 0 ? 2 : name.toLowerCase() === query ? -1 : Math.min(index, 1);
  };
  return commands.filter((command) => rank(command) < 2).sort((first, second) => rank(first) - rank(second));
}
