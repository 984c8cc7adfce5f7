// The inspector tab with the thread's git worktree: branch, changed files, diff, and the buttons that merge or discard it.

import { getJson, postJson, send } from "../lib/api.js";
import { fill, h, icon, openDialog, toast } from "../lib/dom.js";
import { patchView } from "../render/diff.js";
import { readWorktree } from "./capabilities.js";

const RESULTS = {
  "fast-forward": "Merged.", "merge-commit": "Merged with a merge commit.", "nothing-to-merge": "There is nothing to merge: the base has everything.",
};

export class WorktreeTab {
  constructor(session) {
    this.session = session;
    this.node = h("div", { class: "pad stack", dataset: { testid: "worktree" } });
    this.shown = undefined;
    this.discarded = undefined; // the snapshot may name it a moment longer
    session.run.subscribe(() => { this.shown = undefined; }, session.abort);
  }

  get path() { return `${this.session.threadPath}/worktree`; }

  /** Loads again when the tab is opened, after a run, and when the branch is another one. */
  async update(opened = false) {
    const stated = readWorktree(this.session.capabilities.value), worktree = stated?.branch === this.discarded ? null : stated, key = worktree?.branch ?? "";
    if (!opened && this.shown === key) return;
    this.shown = key;
    if (!worktree) return fill(this.node, h("p", { class: "empty" }, "This thread has no worktree: the agent works in its folder itself."));
    try {
      const signal = this.session.abort, [state, diff] = await Promise.all([getJson(this.path, { signal }), this.#loadDiff(signal)]);
      this.#draw(state, diff);
    } catch (problem) {
      if (!this.session.abort.aborted) fill(this.node, h("div", { class: "notice bad" }, problem.message));
    }
  }

  async #loadDiff(signal) {
    const response = await send(`${this.path}/diff`, { accept: "text/x-diff", signal });
    return { text: await response.text(), isCut: response.headers.has("agui-gateway-truncated") };
  }

  #draw(state, diff) {
    const { branch, base, ahead, behind, dirtyCount, changeCount } = state, target = base.branch ?? base.commit.slice(0, 12);
    const merge = h("button", { class: "btn", type: "button", disabled: !changeCount && !ahead, on: { click: () => this.#merge(state) } }, icon("fork"), "Merge");
    const discard = h("button", { class: "btn danger", type: "button", on: { click: () => this.#discard(state) } }, icon("trash"), "Discard");
    fill(this.node,
      h("div", { class: "row" }, h("code", { class: "grow clip", title: branch }, branch), merge, discard),
      h("p", { class: "small muted" }, `From ${target} in ${base.path}: ${count(ahead, "commit")} ahead, ${behind} behind. `,
        `${count(changeCount, "file")} changed, ${dirtyCount} not committed.`),
      h("p", { class: "small muted" }, "Folder: ", h("code", {}, state.path)),
      diff.text ? patchView(diff.text) : h("p", { class: "empty" }, "No changes yet."),
      diff.isCut && h("p", { class: "diff-note" }, "The diff is longer. Use git in the folder to see all of it."));
  }

  async #merge({ branch, base, dirtyCount }) {
    const target = base.branch ?? "its base";
    const answer = await openDialog(`Merge into ${target}?`, (close) => {
      const message = h("input", { type: "text", "aria-label": "Commit message", value: `Changes of ${branch}` });
      return h("form", { class: "stack", on: { submit: (event) => { event.preventDefault(); close({ message: message.value }); } } },
        h("p", {}, `This changes the files in ${base.path}. A merge that conflicts is refused and changes nothing.`),
        dirtyCount > 0 && h("label", { class: "stack tight" }, `${count(dirtyCount, "uncommitted file")} will be committed first, with this message:`, message),
        h("div", { class: "row" }, h("button", { class: "btn primary", type: "submit" }, "Merge"),
          h("button", { class: "btn", type: "button", on: { click: () => close() } }, "Cancel")));
    });
    if (!answer) return;
    const body = dirtyCount > 0 ? { commit: true, ...(answer.message.trim() && { message: answer.message }) } : {};
    await this.#change(async () => toast(RESULTS[(await postJson(`${this.path}/merge`, body)).result] ?? "Merged."));
  }

  async #discard({ branch }) {
    const isConfirmed = await openDialog("Discard this worktree?", (close) => h("div", { class: "stack" },
      h("p", {}, `This removes the folder and the branch ${branch} with all changes that were not merged. The next message of this thread begins in a new one.`),
      h("div", { class: "row" }, h("button", { class: "btn danger", on: { click: () => close(true) } }, "Discard"),
        h("button", { class: "btn", on: { click: () => close(false) } }, "Cancel"))));
    if (isConfirmed) await this.#change(async () => {
      await send(this.path, { method: "DELETE" });
      this.discarded = branch;
      toast("The worktree was discarded.");
    });
  }

  async #change(act) {
    try {
      await act();
    } catch (problem) {
      toast(describe(problem), "bad");
    }
    await this.session.refresh().catch(() => {});
    await this.update(true);
  }
}

/** A refusal, with the files that are in the way. */
export function describe(problem) {
  const files = problem.body?.files ?? [];
  return files.length > 5 ? `${problem.message} (${files.length} files)` : problem.message;
}

const count = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;
