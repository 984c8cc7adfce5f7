// The options that the user chose for the next run. They travel with the run itself; a reload of the page keeps them.
//
// A choice is dropped when the session reports it, because from then on the snapshot shows it. Draws nothing.

import { signal } from "../lib/signal.js";
import { readSession } from "./capabilities.js";

/** Options that only begin a thread. */
const FIRST_RUN_OPTIONS = ["cwd", "worktree"];

export class ChosenOptions {
  #key;
  /** Option → value, by the names of `forwardedProps.gateway`. */
  values;

  constructor(agent, thread) {
    this.#key = `agui-gateway-options ${agent} ${thread}`;
    this.values = signal(readStored(this.#key));
    this.values.subscribe((values) => store(this.#key, values));
  }

  /** `value`: undefined drops the choice. */
  set(name, value) {
    const { [name]: dropped, ...rest } = this.values.value;
    this.values.value = value === undefined || value === "" ? rest : { ...rest, [name]: value };
  }

  /** Drops what the session reports as its own setting now. */
  follow(capabilities) {
    const { modes, models } = readSession(capabilities), { mode, model } = this.values.value;
    if (mode !== undefined && mode === modes.current) this.set("mode", undefined);
    if (model !== undefined && model === models.current) this.set("model", undefined);
  }

  /** A run has begun: the thread has its folder. */
  runStarted() {
    for (const name of FIRST_RUN_OPTIONS) if (name in this.values.value) this.set(name, undefined);
  }
}

function readStored(key) {
  try {
    const stored = JSON.parse(sessionStorage.getItem(key) ?? "{}");
    return typeof stored === "object" && stored !== null ? stored : {};
  } catch {
    return {};
  }
}

function store(key, values) {
  if (Object.keys(values).length) sessionStorage.setItem(key, JSON.stringify(values));
  else sessionStorage.removeItem(key);
}
