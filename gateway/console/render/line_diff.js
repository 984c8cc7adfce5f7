// What changed between two texts, line by line; and what a unified diff says. Pure.

const MOST_WORK = 20_000_000; // steps of the search: past them the whole middle counts as replaced
const MOST_EDITS = 1000; // its memory grows with the square of this

/** [{kind: " " | "-" | "+", text, old, new}], numbered from 1. */
export function changes(oldText, newText) {
  const before = split(oldText), after = split(newText);
  let head = 0, tail = 0;
  const room = Math.min(before.length, after.length);
  while (head < room && before[head] === after[head]) head += 1;
  while (tail < room - head && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail += 1;
  const middle = edits(before.slice(head, before.length - tail), after.slice(head, after.length - tail));
  const same = (lines) => lines.map((text) => [" ", text]);
  return numbered([...same(before.slice(0, head)), ...middle, ...same(before.slice(before.length - tail))]);
}

function split(text) {
  if (!text) return [];
  const lines = text.replaceAll("\r\n", "\n").split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

function numbered(pairs) {
  let old = 1, fresh = 1;
  return pairs.map(([kind, text]) => ({ kind, text, old: kind === "+" ? null : old++, new: kind === "-" ? null : fresh++ }));
}

/** Myers: the fewest edits, as long as they can be found with bounded work. */
function edits(before, after) {
  const whole = [...before.map((text) => ["-", text]), ...after.map((text) => ["+", text])];
  if (!before.length || !after.length) return whole;
  const limit = Math.min(before.length + after.length, MOST_EDITS, Math.ceil(MOST_WORK / (before.length + after.length)));
  const trail = search(before, after, limit);
  return trail ? walk(before, after, trail) : whole;
}

function search(before, after, limit) {
  const trail = [];
  let far = new Int32Array(2 * limit + 3);
  for (let count = 0; count <= limit; count += 1) {
    trail.push(far.slice(limit - count, limit + count + 3));
    for (let k = -count; k <= count; k += 2) {
      const at = k + limit + 1;
      let x = k === -count || (k !== count && far[at - 1] < far[at + 1]) ? far[at + 1] : far[at - 1] + 1;
      while (x < before.length && x - k < after.length && before[x] === after[x - k]) x += 1;
      far[at] = x;
      if (x >= before.length && x - k >= after.length) return trail;
    }
  }
  return null;
}

/** From the end back to the start, by the positions kept before each round. */
function walk(before, after, trail) {
  const found = [];
  let x = before.length, y = after.length;
  for (let count = trail.length - 1; count >= 0; count -= 1) {
    const kept = trail[count], reach = (k) => kept[k + count + 1];
    const k = x - y, down = k === -count || (k !== count && reach(k - 1) < reach(k + 1));
    const backX = count ? (down ? reach(k + 1) : reach(k - 1)) : 0, backY = count ? backX - (down ? k + 1 : k - 1) : 0;
    while (x > backX && y > backY && before[x - 1] === after[y - 1]) { found.push([" ", before[--x]]); y -= 1; }
    if (count) found.push(down ? ["+", after[--y]] : ["-", before[--x]]);
  }
  return found.reverse();
}

/** [{path, hunks: [{title, lines}]}]; whatever is no diff is a hunk of plain lines, so nothing is lost. */
export function patch(text) {
  const files = [];
  let file = null, hunk = null, old = 0, fresh = 0, left = [0, 0];
  const add = (kind, line, inside) => hunk.lines.push({ kind, text: line, old: kind === "+" || !inside ? null : old++, new: kind === "-" || !inside ? null : fresh++ });
  for (const line of split(text)) {
    const title = /^@@+ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@(.*)$/.exec(line);
    const inside = left[0] > 0 || left[1] > 0;
    if (title && (file || (file = begin(files, "")))) {
      [old, fresh, left] = [Number(title[1]), Number(title[3]), [Number(title[2] ?? 1), Number(title[4] ?? 1)]];
      file.hunks.push((hunk = { title: title[5].trim(), lines: [], at: fresh }));
    } else if (inside && hunk && /^[ +-]|^$/.test(line)) {
      const kind = line[0] ?? " ";
      if (kind !== "+") left[0] -= 1;
      if (kind !== "-") left[1] -= 1;
      add(kind, line.slice(1), true);
    } else if (line.startsWith("diff --git ") || line.startsWith("--- ") || line.startsWith("+++ ")) {
      if (!line.startsWith("+++ ") || !file) [file, hunk] = [file?.hunks.length || !file || line.startsWith("diff") ? begin(files, "") : file, null];
      file.path = named(line) || file.path;
    } else if (!/^(?:index |new file|deleted file|old mode|new mode|similarity|rename|Binary files|\\ No newline)/.test(line) && line !== "") {
      file ??= begin(files, "");
      if (!hunk) file.hunks.push((hunk = { title: "", lines: [], at: 1 }));
      add(/^[+-]/.test(line) ? line[0] : " ", /^[ +-]/.test(line) ? line.slice(1) : line, false);
    }
  }
  return files.filter((one) => one.hunks.length || one.path);
}

function begin(files, path) {
  files.push({ path, hunks: [] });
  return files.at(-1);
}

function named(line) {
  const found = /^(?:\+\+\+|---) (?:[ab]\/)?([^\t]+)/.exec(line) ?? /^diff --git a\/.* b\/(.*)$/.exec(line);
  return found && found[1] !== "/dev/null" ? found[1] : "";
}
