// Every event as it came, for the inspector: bounded, and cheap to add to. Also how far each run was heard.

const MOST = 50_000;
const ENDS = new Set(["RUN_FINISHED", "RUN_ERROR"]);

export class Journal {
  entries = [];
  /** How many were dropped from the front. */
  dropped = 0;
  inputs = [];
  #runs = new Map();

  add(entry, runId) {
    this.#runs.set(runId, { last: entry.number, over: ENDS.has(entry.event.type) });
    this.entries.push(entry);
    if (this.entries.length > 2 * MOST) {
      this.dropped += this.entries.length - MOST;
      this.entries = this.entries.slice(-MOST);
    }
  }

  /** The number of the last event that came of a run. */
  last(runId) { return this.#runs.get(runId)?.last ?? 0; }

  /** Was the run heard to its end? */
  over(runId) { return this.#runs.get(runId)?.over ?? false; }

  began(input) {
    this.inputs = [...this.inputs.slice(-19), input];
  }

  get input() { return this.inputs.at(-1); }
}
