// Which runs of `*`, `_` and `~` belong together: CommonMark's delimiter stack, as a linked list. Pure. The tokens stay
// where they are; a run learns what it `closes` and `opens`, in the order met, inner ones first.

const FAR = 300; // characters: an opener that long ago was hardly meant as one

/** Pairs the marks from `bottom` on and forgets them. With `end`, what may yet be closed counts as closed there. */
export function pair(marks, bottom, end) {
  const runs = marks.splice(bottom);
  runs.forEach((run, index) => Object.assign(run, { place: index, before: runs[index - 1] ?? null, after: runs[index + 1] ?? null }));
  const floors = new Map(); // no opener for this kind of closer stands at or below this place: never searched again
  let closer = runs[0] ?? null;
  while (closer) closer = closer.closes ? step(closer, floors) : closer.after;
  if (end) closeAtEnd(runs, end);
}

/** The next closer to look at. */
function step(closer, floors) {
  const kind = `${closer.sign}${closer.opens ? 1 : 0}${closer.whole % 3}${closer.sign === "~" ? closer.length : ""}`;
  const floor = floors.get(kind) ?? -1;
  let opener = closer.before;
  while (opener && opener.place > floor && !fits(opener, closer)) opener = opener.before;
  if (opener && opener.place > floor) return match(opener, closer);
  floors.set(kind, closer.before?.place ?? -1);
  const next = closer.after;
  if (!closer.opens) drop(closer);
  return next;
}

function fits(opener, closer) {
  if (opener.sign !== closer.sign || !opener.opens) return false;
  if (opener.sign === "~") return opener.length === closer.length;
  const threes = (opener.whole + closer.whole) % 3 === 0 && (opener.whole % 3 !== 0 || closer.whole % 3 !== 0);
  return !((opener.closes || closer.opens) && threes);
}

function match(opener, closer) {
  const length = opener.sign === "~" ? opener.length : Math.min(opener.length, closer.length, 2);
  const kind = opener.sign === "~" ? "del" : length === 2 ? "strong" : "em";
  opener.token.opens.push(kind);
  closer.token.closes.push(kind);
  opener.length -= length;
  closer.length -= length;
  for (let between = opener.after; between !== closer; between = between.after) between.gone = true; // stays text
  opener.after = closer;
  closer.before = opener;
  if (!opener.length) drop(opener);
  if (closer.length) return closer;
  const next = closer.after;
  drop(closer);
  return next;
}

function drop(run) {
  run.gone = true;
  if (run.before) run.before.after = run.after;
  if (run.after) run.after.before = run.before;
}

function closeAtEnd(runs, end) {
  const open = runs.filter((run) => run.opens && run.fresh && !run.gone && run.length && run.length <= 3 && end.at - run.at < FAR);
  for (const run of open.reverse()) {
    const kinds = run.sign === "~" ? (run.length === 2 ? ["del"] : []) : [["em"], ["strong"], ["em", "strong"]][run.length - 1];
    if (!kinds.length) continue;
    run.token.opens.push(...kinds);
    end.token.closes.push(...kinds);
    run.length = 0;
  }
}
