// Pairs runs of `*`, `_` and `~` into emphasis: CommonMark's delimiter stack as a linked list. Pure: no DOM. The tokens keep
// their places; each run collects what it `closes` and `opens`, inner pairs first.

const MAX_OPEN_CHARS = 300; // an opener that is farther back was probably not meant as one

/** Pairs the marks from `bottom` on and removes them from the list. With `end`, runs that are still open are closed there. */
export function pairMarks(marks, bottom, end) {
  const runs = marks.splice(bottom);
  runs.forEach((run, index) => Object.assign(run, { place: index, before: runs[index - 1] ?? null, after: runs[index + 1] ?? null }));
  const floors = new Map(); // for each kind of closer, the place at or below which no opener exists
  let closer = runs[0] ?? null;
  while (closer) closer = closer.closes ? matchCloser(closer, floors) : closer.after;
  if (end) closeAtEnd(runs, end);
}

/** Looks for the opener of one closer. Returns the closer to look at next. */
function matchCloser(closer, floors) {
  const kind = `${closer.sign}${closer.opens ? 1 : 0}${closer.whole % 3}${closer.sign === "~" ? closer.length : ""}`;
  const floor = floors.get(kind) ?? -1;
  let opener = closer.before;
  while (opener && opener.place > floor && !canPair(opener, closer)) opener = opener.before;
  if (opener && opener.place > floor) return joinPair(opener, closer);
  floors.set(kind, closer.before?.place ?? -1);
  const next = closer.after;
  if (!closer.opens) unlink(closer);
  return next;
}

function canPair(opener, closer) {
  if (opener.sign !== closer.sign || !opener.opens) return false;
  if (opener.sign === "~") return opener.length === closer.length;
  const threes = (opener.whole + closer.whole) % 3 === 0 && (opener.whole % 3 !== 0 || closer.whole % 3 !== 0);
  return !((opener.closes || closer.opens) && threes);
}

function joinPair(opener, closer) {
  const length = opener.sign === "~" ? opener.length : Math.min(opener.length, closer.length, 2);
  const kind = opener.sign === "~" ? "del" : length === 2 ? "strong" : "em";
  opener.token.opens.push(kind);
  closer.token.closes.push(kind);
  opener.length -= length;
  closer.length -= length;
  for (let between = opener.after; between !== closer; between = between.after) between.gone = true; // stays text
  opener.after = closer;
  closer.before = opener;
  if (!opener.length) unlink(opener);
  if (closer.length) return closer;
  const next = closer.after;
  unlink(closer);
  return next;
}

function unlink(run) {
  run.gone = true;
  if (run.before) run.before.after = run.after;
  if (run.after) run.after.before = run.before;
}

function closeAtEnd(runs, end) {
  const open = runs.filter((run) => run.opens && run.fresh && !run.gone && run.length && run.length <= 3 && end.at - run.at < MAX_OPEN_CHARS);
  for (const run of open.reverse()) {
    const kinds = run.sign === "~" ? (run.length === 2 ? ["del"] : []) : [["em"], ["strong"], ["em", "strong"]][run.length - 1];
    if (!kinds.length) continue;
    run.token.opens.push(...kinds);
    end.token.closes.push(...kinds);
    run.length = 0;
  }
}
