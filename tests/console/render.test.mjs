// Diffs, terminals, forms and snapshots: what render/ works out before it makes elements.
import assert from "node:assert/strict";
import { test } from "node:test";

import { Screen } from "../../gateway/console/render/ansi.js";
import { brief, byOrder, flatten, grouped, KNOWN, same, within } from "../../gateway/console/render/paths.js";
import { changes, patch } from "../../gateway/console/render/line_diff.js";
import { choices, control, localTime, resolved, rfc3339, wrong } from "../../gateway/console/render/schema.js";

const side = (rows, not) => rows.filter((row) => row.kind !== not).map((row) => row.text);

test("a diff gives both texts back, with the fewest changes", () => {
  let seed = 3;
  const next = (most) => (seed = (seed * 1103515245 + 12345) % 2147483648) % most;
  for (let round = 0; round < 500; round += 1) {
    const before = Array.from({ length: next(14) }, () => "abcd"[next(4)]), after = Array.from({ length: next(14) }, () => "abcd"[next(4)]);
    const rows = changes(before.join("\n"), after.join("\n"));
    assert.deepEqual([side(rows, "+"), side(rows, "-")], [before, after]);
    assert.equal(rows.filter((row) => row.kind === " ").length, longest(before, after));
  }
});

/** The length of the longest common subsequence, the slow and plain way. */
function longest(one, other) {
  const row = Array(other.length + 1).fill(0);
  for (const a of one) { let last = 0; other.forEach((b, at) => { const kept = row[at + 1]; row[at + 1] = a === b ? last + 1 : Math.max(row[at + 1], row[at]); last = kept; }); }
  return row.at(-1);
}

test("lines are numbered on both sides", () => {
  assert.deepEqual(changes("a\nb\nc\n", "a\nx\nc\nd\n").map((row) => [row.kind, row.old, row.new]), [[" ", 1, 1], ["-", 2, null], ["+", null, 2], [" ", 3, 3], ["+", null, 4]]);
  assert.deepEqual(changes("", "a").map((row) => row.kind), ["+"]);
  assert.deepEqual(changes("", ""), []);
});

test("texts that share nothing are told apart in bounded time", () => {
  const start = performance.now(), lines = (sign) => Array.from({ length: 30_000 }, (_, at) => sign + at).join("\n");
  assert.equal(changes(lines("a"), lines("b")).length, 60_000);
  assert.ok(performance.now() - start < 15_000, `${performance.now() - start} ms`);
});

test("a unified diff is read, and what is none is kept", () => {
  const [one, other] = patch("diff --git a/x.py b/x.py\nindex 1..2\n--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,3 @@ def f\n a\n-b\n+c\n+--- d\n--- a/y\n+++ /dev/null\n@@ -5 +0,0 @@\n-gone\n");
  assert.deepEqual([one.path, one.hunks[0].title, one.hunks[0].lines.map((line) => line.kind + line.text)], ["x.py", "def f", [" a", "-b", "+c", "+--- d"]]);
  assert.deepEqual([other.path, other.hunks[0].lines], ["y", [{ kind: "-", text: "gone", old: 5, new: null }]]);
  assert.deepEqual(patch("just words\nand more")[0].hunks[0].lines.map((line) => line.text), ["just words", "and more"]);
  assert.deepEqual(patch(""), []);
});

const text = (screen) => screen.lines.map((line) => line.map((run) => run.text).join(""));

test("a terminal overwrites, erases and colours", () => {
  const screen = new Screen();
  screen.write("10%\r100%\nabc\b\bX\nlong line\r\x1b[Kshort\n\x1b[1;31mred\x1b[0m \x1b[38;5;196ma\x1b[48;2;1;2;3mb");
  assert.deepEqual(text(screen), ["100%", "aXc", "short", "red ab"]);
  assert.deepEqual(screen.lines[3].map((run) => run.style), [{ bold: true, fg: 1 }, {}, { fg: "#ff0000" }, { fg: "#ff0000", bg: "#010203" }]);
});

test("an escape may be cut anywhere, and those that say nothing to us are dropped", () => {
  const all = "a\x1b[31mb\x1b[0m\x1b]0;title\x07c\x1b]8;;https://x\x1b\\d\x1b(Be\x1b[?25lf\x1b[2Jg";
  const whole = new Screen();
  whole.write(all);
  for (let cut = 0; cut <= all.length; cut += 1) {
    const screen = new Screen();
    screen.write(all.slice(0, cut));
    screen.write(all.slice(cut));
    assert.deepEqual(screen.lines, whole.lines, `cut at ${cut}`);
  }
  assert.deepEqual(text(whole), ["g"]);
});

test("a terminal keeps only its last lines, and only so much of an escape", () => {
  const screen = new Screen(100), start = performance.now();
  for (let at = 0; at < 20_000; at += 1) screen.write(`line \x1b[32m${at}\x1b[0m\n`);
  assert.ok(screen.lines.length <= 125);
  assert.equal(text(screen).at(-2), "line 19999");
  assert.equal(screen.dropped + screen.lines.length, 20_001);
  for (const part of ["\x1b]", "\x1b[", "\x1b[3", "\x1bP", "x", "\r", "\x1b[A", "\x00"]) new Screen().write(part.repeat(100_000));
  assert.ok(performance.now() - start < 15_000, `${performance.now() - start} ms`);
});

test("each kind of schema gets its control", () => {
  const kinds = [[{ type: "string" }, "text"], [{ type: "string", maxLength: 5000 }, "lines"], [{ enum: ["a", 1] }, "choice"], [{ oneOf: [{ const: "a", title: "A" }] }, "choice"], [{ type: ["integer", "null"] }, "integer"], [{ type: "boolean" }, "boolean"],
    [{ type: "array", items: { enum: ["a"] } }, "choices"], [{ type: "array", items: { type: "string" } }, "items"], [{ type: "object", properties: { a: {} } }, "group"], [{ type: "object" }, "json"], [{}, "json"], [{ enum: [{ a: 1 }] }, "json"], [{ type: "array" }, "json"], [{ anyOf: [{ type: "string" }, { type: "number" }] }, "json"]];
  for (const [schema, kind] of kinds) assert.equal(control(schema), kind, JSON.stringify(schema));
  assert.deepEqual(choices({ oneOf: [{ const: 1, title: "One" }, { const: 2 }] }).map(({ value, title }) => [value, title]), [[1, "One"], [2, "2"]]);
});

test("references are followed, but not for ever", () => {
  const root = { $defs: { a: { type: "integer", title: "A" }, loop: { $ref: "#/$defs/loop" } } };
  assert.equal(resolved({ $ref: "#/$defs/a" }, root).type, "integer");
  assert.equal(resolved({ anyOf: [{ type: "null" }, { $ref: "#/$defs/a" }] }, root).title, "A");
  assert.equal(control(resolved({ $ref: "#/$defs/loop" }, root)), "json");
  assert.deepEqual(resolved(null, root), {});
});

test("what is wrong with a value is said", () => {
  const cases = [[{ type: "string", minLength: 3 }, "ab"], [{ type: "string", maxLength: 1 }, "ab"], [{ type: "string", pattern: "^\\d+$" }, "x"], [{ type: "string", format: "email" }, "x"], [{ enum: ["a"] }, "b"], [{ type: "integer" }, 1.5], [{ type: "number", minimum: 2 }, 1], [{ type: "number", exclusiveMaximum: 2 }, 2], [{ type: "number", multipleOf: 0.1 }, 0.25], [{ type: "array", minItems: 1 }, []]];
  for (const [schema, value] of cases) assert.notEqual(wrong(schema, value, true), "", JSON.stringify([schema, value]));
  assert.deepEqual([wrong({ type: "string" }, "", true) !== "", wrong({ type: "string", minLength: 3 }, undefined, false), wrong({ type: "number", multipleOf: 0.1 }, 0.3, true), wrong({ type: "string", pattern: "(" }, "x", true)], [true, "", "", ""]);
});

test("a pattern that could hang the page is left to the agent", () => {
  const start = performance.now();
  for (const pattern of ["^(a+)+$", "^(a*)*$", "(a|a)+$", "^(([a-z])+.)+$"]) wrong({ type: "string", pattern }, `${"a".repeat(28)}!`, true);
  assert.ok(performance.now() - start < 5000, `${performance.now() - start} ms`);
});

test("a snapshot is leaves in AG-UI's order, and unknown is not false", () => {
  const values = flatten({ tools: { items: [{ name: "x" }], supported: false }, identity: { name: "A", metadata: {} }, custom: { mux: { a: 1 } } });
  assert.deepEqual(values, { "tools.items": [{ name: "x" }], "tools.supported": false, "identity.name": "A", "identity.metadata": {}, "custom.mux.a": 1 });
  assert.deepEqual(grouped(Object.keys(values)), [["identity", ["identity.name", "identity.metadata"]], ["tools", ["tools.supported", "tools.items"]], ["custom.mux", ["custom.mux.a"]]]);
  assert.deepEqual([within("custom.mux.a"), within("tools.items"), brief([{ name: "x" }, "y"]), brief("z".repeat(99), 5)], ["a", "items", "x, y", "zzzz…"]);
  assert.ok(same({ a: 1, b: [2] }, { b: [2], a: 1 }) && !same([1, 2], [2, 1]) && byOrder(KNOWN[0], "zzz") < 0);
});

test("what is wrong is said in English", () => {
  const said = (schema, value) => wrong(schema, value, true);
  assert.equal(said({ type: "string", format: "email" }, "x"), "This is not an e-mail address.");
  assert.deepEqual([said({ type: "array", minItems: 1 }, []), said({ type: "array", minItems: 2 }, [])], ["At least 1 entry.", "At least 2 entries."]);
  assert.equal(said({ type: "string", maxLength: 1 }, "ab"), "At most 1 character.");
});

test("a moment has seconds and an offset", () => {
  const moment = { type: "string", format: "date-time" };
  for (const right of ["2026-01-02T03:04:05Z", "2026-01-02T03:04:05.678+01:00"]) assert.equal(wrong(moment, right, true), "");
  for (const short of ["2026-01-02T03:04", "2026-01-02T03:04:05"]) assert.equal(wrong(moment, short, true), "This is not a date and a time.");
  for (const at of ["2026-01-02T03:04:05Z", "2026-07-02T03:04:05+05:30"]) assert.equal(Date.parse(rfc3339(localTime(at))), Date.parse(at));
  assert.equal(wrong(moment, rfc3339("2026-01-02T03:04"), true), "");
  assert.deepEqual([localTime("no time"), localTime(7), rfc3339("no time")], ["", "", "no time"]);
});
