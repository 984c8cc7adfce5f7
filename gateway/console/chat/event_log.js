// The bounded log of all received events, for the inspector. It also records how far each run was received.

const MAX_ENTRIES = 50_000;
const MAX_INPUTS = 20;
const END_EVENTS = new Set(["RUN_FINISHED", "RUN_ERROR"]);

export class EventLog {
  entries = [];
  /** The number of entries dropped from the front. */
  dropped = 0;
  inputs = [];
  #runs = new Map();

  add(entry, runId) {
    this.#runs.set(runId, { last: entry.number, isOver: END_EVENTS.has(entry.event.type) });
    this.entries.push(entry);
    if (this.entries.length > 2 * MAX_ENTRIES) {
      this.dropped += this.entries.length - MAX_ENTRIES;
      this.entries = this.entries.slice(-MAX_ENTRIES);
    }
  }

  /** The number of the last received event of a run. */
  lastNumber(runId) { return this.#runs.get(runId)?.last ?? 0; }

  /** Was the run received to its end? */
  isOver(runId) { return this.#runs.get(runId)?.isOver ?? false; }

  addInput(input) {
    this.inputs = [...this.inputs.slice(1 - MAX_INPUTS), input];
  }

  get input() { return this.inputs.at(-1); }
}
