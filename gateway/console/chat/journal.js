// Every event as it came, for the inspector: bounded, and cheap to add to.

const MOST = 50_000;

export class Journal {
  entries = [];
  /** How many were dropped from the front. */
  dropped = 0;
  inputs = [];

  add(entry) {
    this.entries.push(entry);
    if (this.entries.length > 2 * MOST) {
      this.dropped += this.entries.length - MOST;
      this.entries = this.entries.slice(-MOST);
    }
  }

  began(input) {
    this.inputs = [...this.inputs.slice(-19), input];
  }

  get input() { return this.inputs.at(-1); }
}
