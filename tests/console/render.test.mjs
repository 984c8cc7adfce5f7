// The pure parts of render/: diffs, terminals, forms, snapshots.
import assert from "node:assert/strict";
import { test } from "node:test";

import { Screen } from "../../gateway/console/render/ansi.js";
import { AGUI_PATHS, comparePaths, flatten, groupPaths, isEqual, pathInGroup, summarize } from "../../gateway/console/render/paths.js";
import { diffLines, parsePatch } from "../../gateway/console/render/line_diff.js";
import { choices, controlFor, fromLocalTime, resolveSchema, toLocalTime, validationError } from "../../gateway/console/render/schema.js";

const side = (rows, not) => rows.filter((row) => row.kind !== not).map((row) => row.text);

test("a diff gives both texts back, with the fewest changes", () => {
  let seed = 3;
  const nextRandom = (limit) => (seed = (seed * 1103515245 + 12345) % 2147483648) % limit;
  for (let round = 0; round < 500; round += 1) {
    const before = Array.from({ length: nextRandom(14) }, () => "abcd"[nextRandom(4)]),
      after = Array.from({ length: nextRandom(14) }, () => "abcd"[nextRandom(4)]);
    const rows = diffLines(before.join("\n"), after.join("\n"));
    assert.deepEqual([side(rows, "+"), side(rows, "-")], [before, after]);
    assert.equal(rows.filter((row) => row.kind === " ").length, longestCommon(before, after));
  }
});

/** The length of the longest common subsequence, the slow and plain way. */
function longestCommon(first, second) {
  const row = Array(second.length + 1).fill(0);
  for (const a of first) { let last = 0; second.forEach((b,
    at) => { const previous = row[at + 1]; row[at + 1] = a === b ? last + 1 : Math.max(row[at + 1], row[at]); last = previous; }); }
  return row.at(-1);
}

test("lines are numbered on both sides", () => {
  assert.deepEqual(diffLines("a\nb\nc\n", "a\nx\nc\nd\n").map((row) => [row.kind, row.old, row.new]),
    [[" ", 1, 1], ["-", 2, null], ["+", null, 2], [" ", 3, 3], ["+", null, 4]]);
  assert.deepEqual(diffLines("", "a").map((row) => row.kind), ["+"]);
  assert.deepEqual(diffLines("", ""), []);
});

test("completely different texts are compared in bounded time", () => {
  const start = performance.now(), lines = (prefix) => Array.from({ length: 30_000 }, (_, at) => prefix + at).join("\n");
  assert.equal(diffLines(lines("a"), lines("b")).length, 60_000);
  assert.ok(performance.now() - start < 15_000, `${performance.now() - start} ms`);
});

test("a unified diff is parsed, and other text is kept", () => {
  const [first, second] = parsePatch("diff --git a/x.py b/x.py\nindex 1..2\n--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,3 @@ def f\n a\n-b\n+c\n+--- d\n--- a/y\n+++ /dev/null\n@@ -5 +0,0 @@\n-gone\n");
  assert.deepEqual([first.path, first.hunks[0].title, first.hunks[0].lines.map((line) => line.kind + line.text)],
    ["x.py", "def f", [" a", "-b", "+c", "+--- d"]]);
  assert.deepEqual([second.path, second.hunks[0].lines], ["y", [{ kind: "-", text: "gone", old: 5, new: null }]]);
  assert.deepEqual(parsePatch("just words\nand more")[0].hunks[0].lines.map((line) => line.text), ["just words", "and more"]);
  assert.deepEqual(parsePatch(""), []);
});

const text = (screen) => screen.lines.map((line) => line.map((run) => run.text).join(""));

test("a terminal overwrites, erases and colours", () => {
  const screen = new Screen();
  screen.write("10%\r100%\nabc\b\bX\nlong line\r\x1b[Kshort\n\x1b[1;31mred\x1b[0m \x1b[38;5;196ma\x1b[48;2;1;2;3mb");
  assert.deepEqual(text(screen), ["100%", "aXc", "short", "red ab"]);
  assert.deepEqual(screen.lines[3].map((run) => run.style), [{ bold: true, fg: 1 }, {}, { fg: "#ff0000" }, { fg: "#ff0000", bg: "#010203" }]);
});

test("an escape may be split anywhere, and unknown escapes are dropped", () => {
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

test("a terminal bounds its lines and unfinished escapes", () => {
  const screen = new Screen(100), start = performance.now();
  for (let at = 0; at < 20_000; at += 1) screen.write(`line \x1b[32m${at}\x1b[0m\n`);
  assert.ok(screen.lines.length <= 125);
  assert.equal(text(screen).at(-2), "line 19999");
  assert.equal(screen.dropped + screen.lines.length, 20_001);
  for (const part of ["\x1b]", "\x1b[", "\x1b[3", "\x1bP", "x", "\r", "\x1b[A", "\x00"]) new Screen().write(part.repeat(100_000));
  assert.ok(performance.now() - start < 15_000, `${performance.now() - start} ms`);
});

test("each kind of schema gets its control", () => {
  const kinds = [[{ type: "string" }, "text"], [{ type: "string", maxLength: 5000 }, "lines"], [{ enum: ["a", 1] }, "choice"],
    [{ oneOf: [{ const: "a", title: "A" }] }, "choice"], [{ type: ["integer", "null"] }, "integer"], [{ type: "boolean" }, "boolean"],
    [{ type: "array", items: { enum: ["a"] } }, "choices"], [{ type: "array", items: { type: "string" } }, "items"],
      [{ type: "object", properties: { a: {} } }, "group"], [{ type: "object" }, "json"], [{}, "json"], [{ enum: [{ a: 1 }] }, "json"],
      [{ type: "array" }, "json"], [{ anyOf: [{ type: "string" }, { type: "number" }] }, "json"]];
  for (const [schema, kind] of kinds) assert.equal(controlFor(schema), kind, JSON.stringify(schema));
  assert.deepEqual(choices({ oneOf: [{ const: 1, title: "One" }, { const: 2 }] }).map(({ value, title }) => [value, title]), [[1, "One"], [2, "2"]]);
});

test("references are resolved with a bound", () => {
  const root = { $defs: { a: { type: "integer", title: "A" }, loop: { $ref: "#/$defs/loop" } } };
  assert.equal(resolveSchema({ $ref: "#/$defs/a" }, root).type, "integer");
  assert.equal(resolveSchema({ anyOf: [{ type: "null" }, { $ref: "#/$defs/a" }] }, root).title, "A");
  assert.equal(controlFor(resolveSchema({ $ref: "#/$defs/loop" }, root)), "json");
  assert.deepEqual(resolveSchema(null, root), {});
});

test("an invalid value has an error message", () => {
  const cases = [[{ type: "string", minLength: 3 }, "ab"], [{ type: "string", maxLength: 1 }, "ab"], [{ type: "string", pattern: "^\\d+$" }, "x"],
    [{ type: "string", format: "email" }, "x"], [{ enum: ["a"] }, "b"], [{ type: "integer" }, 1.5], [{ type: "number", minimum: 2 }, 1],
    [{ type: "number", exclusiveMaximum: 2 }, 2], [{ type: "number", multipleOf: 0.1 }, 0.25], [{ type: "array", minItems: 1 }, []]];
  for (const [schema, value] of cases) assert.notEqual(validationError(schema, value, true), "", JSON.stringify([schema, value]));
  assert.deepEqual([validationError({ type: "string" }, "", true) !== "", validationError({ type: "string", minLength: 3 }, undefined, false),
    validationError({ type: "number", multipleOf: 0.1 }, 0.3, true), validationError({ type: "string", pattern: "(" }, "x", true)], [true, "", "", ""]);
});

test("a pattern that could block the page is not evaluated", () => {
  const start = performance.now();
  for (const pattern of ["^(a+)+$", "^(a*)*$", "(a|a)+$", "^(([a-z])+.)+$"]) validationError({ type: "string", pattern }, `${"a".repeat(28)}!`, true);
  assert.ok(performance.now() - start < 5000, `${performance.now() - start} ms`);
});

test("a snapshot is flattened and grouped in AG-UI's order", () => {
  const values = flatten({ tools: { items: [{ name: "x" }], supported: false }, identity: { name: "A", metadata: {} }, custom: { mux: { a: 1 } } });
  assert.deepEqual(values, { "tools.items": [{ name: "x" }], "tools.supported": false, "identity.name": "A", "identity.metadata": {}, "custom.mux.a": 1 });
  assert.deepEqual(groupPaths(Object.keys(values)),
    [["identity", ["identity.name", "identity.metadata"]], ["tools", ["tools.supported", "tools.items"]], ["custom.mux", ["custom.mux.a"]]]);
  assert.deepEqual([pathInGroup("custom.mux.a"), pathInGroup("tools.items"), summarize([{ name: "x" }, "y"]), summarize("z".repeat(99), 5)],
    ["a", "items", "x, y", "zzzz…"]);
  assert.ok(isEqual({ a: 1, b: [2] }, { b: [2], a: 1 }) && !isEqual([1, 2], [2, 1]) && comparePaths(AGUI_PATHS[0], "zzz") < 0);
});

test("error messages are full sentences", () => {
  const message = (schema, value) => validationError(schema, value, true);
  assert.equal(message({ type: "string", format: "email" }, "x"), "This is not an e-mail address.");
  assert.deepEqual([message({ type: "array", minItems: 1 }, []), message({ type: "array", minItems: 2 }, [])],
    ["Enter at least 1 entry.", "Enter at least 2 entries."]);
  assert.equal(message({ type: "string", maxLength: 1 }, "ab"), "Enter at most 1 character.");
});

test("a date-time has seconds and an offset", () => {
  const schema = { type: "string", format: "date-time" };
  for (const valid of ["2026-01-02T03:04:05Z", "2026-01-02T03:04:05.678+01:00"]) assert.equal(validationError(schema, valid, true), "");
  for (const invalid of ["2026-01-02T03:04", "2026-01-02T03:04:05"]) assert.equal(validationError(schema, invalid, true), "This is not a date with a time.");
  for (const at of ["2026-01-02T03:04:05Z", "2026-07-02T03:04:05+05:30"]) assert.equal(Date.parse(fromLocalTime(toLocalTime(at))), Date.parse(at));
  assert.equal(validationError(schema, fromLocalTime("2026-01-02T03:04"), true), "");
  assert.deepEqual([toLocalTime("no time"), toLocalTime(7), fromLocalTime("no time")], ["", "", "no time"]);
});
