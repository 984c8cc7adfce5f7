// The folder that the agent works in: shown for every thread, chosen for a new one, with a git worktree of its own if the user wants.

import { getJson } from "../lib/api.js";
import { fill, h, icon, openDialog } from "../lib/dom.js";
import { isOffered } from "../lib/run_options.js";
import { readSession, readWorktree } from "./capabilities.js";

export class FolderButton {
  /** The folder of a run that names none; unknown until it is loaded. */
  #defaultFolder;

  constructor(session) {
    this.session = session;
    this.node = h("button", { class: "btn quiet folder-button", type: "button", hidden: true, dataset: { testid: "folder" }, on: { click: () => this.#open() } });
    const sources = [session.capabilities, session.selectedOptions, session.isStored, session.agentInfo];
    for (const source of sources) source.subscribe(() => this.#show(), session.abort);
  }

  /** The agent works in a folder of the gateway's machine. */
  get hasFolder() { return isOffered(this.session.offers.cwd) || isOffered(this.session.offers.worktree); }

  /** A thread that has begun stays in its folder. */
  get canChoose() { return this.hasFolder && !this.session.isStored.value; }

  get folder() {
    const { selectedOptions, capabilities } = this.session;
    return selectedOptions.value.cwd ?? readSession(capabilities.value).cwd ?? this.#defaultFolder;
  }

  #isLoading = false;
  /** Once, as soon as it is known that the agent has a folder. */
  async #loadDefault() {
    if (this.#isLoading || !this.hasFolder) return;
    this.#isLoading = true;
    const listing = await this.#load().catch(() => null); // an older gateway has no such list
    this.#defaultFolder = listing?.path;
    this.#show();
  }

  #load(path) {
    const query = new URLSearchParams({ agent: this.session.agent, ...(path && { path }) });
    return getJson(`workspaces?${query}`, { signal: this.session.abort });
  }

  #show() {
    this.#loadDefault();
    const { folder } = this, worktree = readWorktree(this.session.capabilities.value), isChosen = this.session.selectedOptions.value.worktree === true;
    this.node.hidden = !folder;
    if (!folder) return;
    const label = `Folder: ${folder}${isChosen ? ", in a new git worktree" : ""}`;
    this.node.title = this.canChoose ? `${label}. Choose another one.` : worktree ? `${label}. The thread works in a git worktree of its own.`
      : `${label}. A thread stays in its folder.`;
    this.node.setAttribute("aria-label", label);
    fill(this.node, icon("folder"), h("span", { class: "clip" }, baseName(folder)), isChosen && icon("fork"));
  }

  #open() {
    if (!this.canChoose) return openDialog("Folder", () => h("div", { class: "stack" }, h("code", {}, this.folder),
      h("p", { class: "muted" }, "A thread stays in its folder. Start a new thread to work in another one.")));
    const { chosen, selectedOptions } = this.session;
    return openDialog("Folder", (close) => new FolderChooser((path) => this.#load(path), {
      folder: this.folder, worktree: selectedOptions.value.worktree, isFixed: !isOffered(this.session.offers.cwd),
      choose: (folder, worktree) => {
        chosen.set("cwd", folder === this.#defaultFolder ? undefined : folder);
        chosen.set("worktree", worktree);
        close();
      },
    }).node);
  }
}

class FolderChooser {
  /** `load(path)`: the listing of `GET /workspaces`. `isFixed`: the agent takes no other folder. `choose(folder, worktree)`:
   *  `worktree` is undefined where the default holds. */
  constructor(load, { folder, worktree, isFixed, choose }) {
    Object.assign(this, { load, choose });
    this.path = h("code", { class: "grow" });
    this.list = h("ul", { class: "folder-list", "aria-label": "Folders", hidden: isFixed });
    this.problem = h("div", { role: "alert" });
    this.worktree = h("input", { type: "checkbox" });
    this.about = h("span", { class: "field-about", id: "worktree-about" });
    this.worktree.setAttribute("aria-describedby", "worktree-about");
    this.wanted = worktree;
    this.worktree.addEventListener("change", () => { this.wanted = this.worktree.checked === this.defaultWorktree ? undefined : this.worktree.checked; });
    this.use = h("button", { class: "btn primary", type: "button", disabled: true, on: { click: () => this.#use() } }, "Use this folder");
    this.node = h("div", { class: "stack folder-chooser", dataset: { testid: "folder-chooser" } },
      h("div", { class: "row" }, icon("folder"), this.path), this.list, this.problem,
      h("div", { class: "described-check" }, h("label", { class: "check" }, this.worktree, "Work in a git worktree of its own"), this.about),
      h("div", { class: "row" }, this.use));
    this.#enter(folder);
  }

  #use() {
    this.choose(this.listing.path, this.listing.worktree.available ? this.wanted : undefined);
  }

  async #enter(path) {
    try {
      this.listing = await this.load(path);
      fill(this.problem);
    } catch (problem) {
      return fill(this.problem, h("div", { class: "notice bad" }, problem.message));
    }
    return this.#draw(this.listing);
  }

  #draw({ path, parent, folders, roots, truncated, worktree }) {
    const hadFocus = this.list.contains(document.activeElement), entry = (target, label, name) => h("li", {},
      h("button", { class: "btn quiet", type: "button", on: { click: () => this.#enter(target) } }, icon(name), h("span", { class: "clip" }, label)));
    this.path.textContent = path;
    fill(this.list, parent !== null && entry(parent, "Up one folder", "up"), folders.map(({ name, path: inner }) => entry(inner, name, "folder")),
      parent === null && roots.filter((root) => root !== path).map((root) => entry(root, root, "folder")),
      truncated && h("li", { class: "small muted" }, "There are more folders. Name one with the run's option cwd."));
    this.defaultWorktree = worktree.default === true;
    this.worktree.disabled = !worktree.available;
    this.worktree.checked = worktree.available && (this.wanted ?? this.defaultWorktree);
    this.about.textContent = worktree.available ? "The agent works on a branch of its own. You merge or discard its changes later."
      : `Not possible here: ${worktree.reason}`;
    this.use.disabled = false;
    if (hadFocus) this.list.querySelector("button")?.focus();
  }
}

const baseName = (path) => path.split("/").filter(Boolean).at(-1) ?? path;
