// The agent's own commands, offered under the cursor while a message begins with "/".

import { fill, h } from "../lib/dom.js";
import { session as facts } from "./capabilities.js";

const MOST = 8;
let lists = 0;

export class Completion {
  constructor(session, input) {
    Object.assign(this, { session, input, found: [], at: 0 });
    this.id = `commands-${(lists += 1)}`;
    this.node = h("ul", { class: "completion", role: "listbox", id: this.id, "aria-label": "Commands", hidden: true });
    input.setAttribute("aria-controls", this.id);
    input.setAttribute("aria-autocomplete", "list");
    input.setAttribute("aria-haspopup", "listbox");
    input.addEventListener("blur", () => setTimeout(() => this.#close(), 150));
  }

  update() {
    const typed = this.input.value.match(/^\/([^\s]*)$/);
    this.found = typed ? matching(facts(this.session.capabilities.value).commands, typed[1]).slice(0, MOST) : [];
    this.at = 0;
    this.#draw();
  }

  /** True: the key was meant for the list. */
  pressed(event) {
    if (this.node.hidden) return false;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) this.at = (this.at + step + this.found.length) % this.found.length;
    else if (event.key === "Enter" && this.input.value === `/${this.found[this.at].name}`) return this.#close(); // it is whole: to be sent
    else if (event.key === "Enter" || event.key === "Tab") this.#take(this.found[this.at]);
    else if (event.key === "Escape") this.#close();
    else return false;
    event.preventDefault();
    if (step) this.#draw();
    return true;
  }

  #draw() {
    this.node.hidden = !this.found.length;
    fill(this.node, this.found.map((command, index) => h("li", {
      role: "option", id: `${this.id}-${index}`, "aria-selected": index === this.at ? "true" : "false",
      on: { mousedown: (event) => { event.preventDefault(); this.#take(command); } },
    }, h("code", {}, `/${command.name}`), command.hint && h("span", { class: "muted small" }, command.hint), h("span", { class: "muted clip" }, command.description ?? ""))));
    if (this.node.hidden) this.input.removeAttribute("aria-activedescendant");
    else this.input.setAttribute("aria-activedescendant", `${this.id}-${this.at}`);
  }

  #take(command) {
    this.input.value = `/${command.name} `;
    this.#close();
  }

  #close() {
    this.found = [];
    this.#draw();
    return false;
  }
}

/** The one that is called so, then those that begin so, then those that have it somewhere. */
export function matching(commands, typed) {
  const wanted = typed.toLowerCase();
  const rank = ({ name }) => { const at = name.toLowerCase().indexOf(wanted); return at < 0 ? 2 : name.toLowerCase() === wanted ? -1 : Math.min(at, 1); };
  return commands.filter((command) => rank(command) < 2).sort((one, other) => rank(one) - rank(other));
}
