// Line diffs: the changes between two texts, and the parser of unified diffs. Pure: no DOM.

const MAX_STEPS = 20_000_000; // beyond these search steps, the whole middle counts as replaced
const MAX_EDITS = 1000; // memory grows with the square of this

/** [{kind: " " | "-" | "+", text, old, new}], numbered from 1. */
export function diffLines(oldText, newText) {
  const before = splitLines(oldText), after = splitLines(newText);
  let head = 0, tail = 0;
  const room = Math.min(before.length, after.length);
  while (head < room && before[head] === after[head]) head += 1;
  while (tail < room - head && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail += 1;
  const middle = findEdits(before.slice(head, before.length - tail), after.slice(head, after.length - tail));
  const unchanged = (lines) => lines.map((text) => [" ", text]);
  return numberLines([...unchanged(before.slice(0, head)), ...middle, ...unchanged(before.slice(before.length - tail))]);
}

function splitLines(text) {
  if (!text) return [];
  const lines = text.replaceAll("\r\n", "\n").split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

function numberLines(pairs) {
  let old = 1, fresh = 1;
  return pairs.map(([kind, text]) => ({ kind, text, old: kind === "+" ? null : old++, new: kind === "-" ? null : fresh++ }));
}

/** Myers' algorithm: the fewest edits, if they can be found within MAX_STEPS. */
function findEdits(before, after) {
  const whole = [...before.map((text) => ["-", text]), ...after.map((text) => ["+", text])];
  if (!before.length || !after.length) return whole;
  const limit = Math.min(before.length + after.length, MAX_EDITS, Math.ceil(MAX_STEPS / (before.length + after.length)));
  const trail = searchPath(before, after, limit);
  return trail ? backtrack(before, after, trail) : whole;
}

function searchPath(before, after, limit) {
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

/** Walks from the end back to the start, by the positions recorded before each round. */
function backtrack(before, after, trail) {
  const rows = [];
  let x = before.length, y = after.length;
  for (let count = trail.length - 1; count >= 0; count -= 1) {
    const positions = trail[count], reach = (k) => positions[k + count + 1];
    const k = x - y, down = k === -count || (k !== count && reach(k - 1) < reach(k + 1));
    const backX = count ? (down ? reach(k + 1) : reach(k - 1)) : 0, backY = count ? backX - (down ? k + 1 : k - 1) : 0;
    while (x > backX && y > backY && before[x - 1] === after[y - 1]) { rows.push([" ", before[--x]]); y -= 1; }
    if (count) rows.push(down ? ["+", after[--y]] : ["-", before[--x]]);
  }
  return rows.reverse();
}

/** [{path, hunks: [{title, lines}]}]. Text that is no diff becomes a hunk of plain lines, so nothing is lost. */
export function parsePatch(text) {
  const files = [];
  let file = null, hunk = null, old = 0, fresh = 0, remaining = [0, 0];
  const add = (kind, line, inside) => hunk.lines.push({ kind, text: line, old: kind === "+" || !inside ? null : old++,
    new: kind === "-" || !inside ? null : fresh++ });
  for (const line of splitLines(text)) {
    const title = /^@@+ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@(.*)$/.exec(line);
    const inside = remaining[0] > 0 || remaining[1] > 0;
    if (title && (file || (file = addFile(files, "")))) {
      old = Number(title[1]);
      fresh = Number(title[3]);
      remaining = [Number(title[2] ?? 1), Number(title[4] ?? 1)];
      file.hunks.push((hunk = { title: title[5].trim(), lines: [], at: fresh }));
    } else if (inside && hunk && /^[ +-]|^$/.test(line)) {
      const kind = line[0] ?? " ";
      if (kind !== "+") remaining[0] -= 1;
      if (kind !== "-") remaining[1] -= 1;
      add(kind, line.slice(1), true);
    } else if (line.startsWith("diff --git ") || line.startsWith("--- ") || line.startsWith("+++ ")) {
      if (!line.startsWith("+++ ") || !file) [file, hunk] = [file?.hunks.length || !file || line.startsWith("diff") ? addFile(files, "") : file, null];
      file.path = readPath(line) || file.path;
    } else if (!/^(?:index |new file|deleted file|old mode|new mode|similarity|rename|Binary files|\\ No newline)/.test(line) && line !== "") {
      file ??= addFile(files, "");
      if (!hunk) file.hunks.push((hunk = { title: "", lines: [], at: 1 }));
      add(/^[+-]/.test(line) ? line[0] : " ", /^[ +-]/.test(line) ? line.slice(1) : line, false);
    }
  }
  return files.filter((entry) => entry.hunks.length || entry.path);
}

function addFile(files, path) {
  files.push({ path, hunks: [] });
  return files.at(-1);
}

function readPath(line) {
  const found = /^(?:\+\+\+|---) (?:[ab]\/)?([^\t]+)/.exec(line) ?? /^diff --git a\/.* b\/(.*)$/.exec(line);
  return found && found[1] !== "/dev/null" ? found[1] : "";
}
