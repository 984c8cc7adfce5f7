// Markdown's blocks, whole and as they grow.
import assert from "node:assert/strict";
import { test } from "node:test";

import { blocks, cells } from "../../gateway/console/render/blocks.js";
import { Growing } from "../../gateway/console/render/streaming_blocks.js";
import { tint } from "../../gateway/console/render/highlight.js";

const SIZE = 1 << 17;
const LIMIT = 20_000; // ms: linear work takes a second

const bare = (found) => JSON.parse(JSON.stringify(found, (key, value) => (["raw", "from", "to", "gap", "fence", "before", "carried"].includes(key) ? undefined : value)));
const p = (text) => ({ kind: "paragraph", text });

test("each kind of block is read", () => {
  for (const [text, expected] of [
    ["# A #\nb\nc", [{ kind: "heading", level: 1, text: "A" }, p("b\nc")]],
    ["A\n===\nB\n---", [{ kind: "heading", level: 1, text: "A" }, { kind: "heading", level: 2, text: "B" }]],
    ["```js x\na\n\n```\nb", [{ kind: "code", language: "js", text: "a\n", closed: true }, p("b")]],
    ["~~~\n```\nnever closed", [{ kind: "code", language: "", text: "```\nnever closed", closed: false }]],
    ["    a\n\n    b", [{ kind: "code", language: "", text: "a\n\nb", closed: true }]],
    ["a\n***\n- - -", [p("a"), { kind: "rule" }, { kind: "rule" }]],
    ["> a\nlazy\n> > b", [{ kind: "quote", blocks: [p("a\nlazy"), { kind: "quote", blocks: [p("b")] }] }]],
    ["<div>\n<script>x</script>", [p("<div>\n<script>x</script>")]],
    ["a\r\nb\r\n\r\nc", [p("a\nb"), p("c")]],
    ["", []],
  ]) assert.deepEqual(bare(blocks(text)), expected, text);
});

test("lists nest, count, and have tasks", () => {
  const [list] = bare(blocks("- a\n  b\n  1. x\n  2. y\n- [x] done\n- [ ] to do"));
  assert.deepEqual(list.items.map((item) => [item.checked ?? null, item.blocks.map((block) => block.text ?? block.items.length)]), [[null, ["a\nb", 2]], [true, ["done"]], [false, ["to do"]]]);
  assert.deepEqual(bare(blocks("3. a\n\n4. b")), [{ kind: "list", start: 3, loose: true, items: [{ blocks: [p("a")] }, { blocks: [p("b")] }] }]);
  assert.deepEqual(bare(blocks("a\n2. b")), [p("a\n2. b")]); // only a list from 1 breaks into a paragraph
  assert.deepEqual(bare(blocks("- ```\n  x\n  ```"))[0].items[0].blocks, [{ kind: "code", language: "", text: "x", closed: true }]);
});

test("a table needs its line of dashes, with as many columns", () => {
  assert.deepEqual(bare(blocks("| a | b |\n|:-|-:|\n| 1 | 2 |\nx")), [{ kind: "table", align: ["left", "right"], head: ["a", "b"], rows: ["| 1 | 2 |", "x"] }]);
  assert.deepEqual(bare(blocks("a | b\n--- | --- | ---")), [p("a | b\n--- | --- | ---")]);
  assert.deepEqual(cells("| a \\| b | `c` |"), ["a | b", "`c`"]);
});

/** All blocks of a text that came in these pieces. */
function grown(pieces) {
  const growing = new Growing(), settled = [];
  let text = "", open = [];
  const take = (told) => {
    const [first, ...others] = [...told.settled, ...told.open], all = first ? [joined(open[0], first), ...others] : [];
    assert.equal(told.restart, false);
    settled.push(...all.slice(0, told.settled.length));
    open = all.slice(told.settled.length);
  };
  for (const piece of pieces) take(growing.update((text += piece), true));
  take(growing.update(text, false));
  return bare([...settled, ...open]);
}

/** A block that goes on, with what was told of it before. */
function joined(old, block) {
  if (!block.before) return block;
  assert.equal(old?.kind, block.kind);
  const name = { list: "items", table: "rows", quote: "blocks", code: "text" }[block.kind], before = old[name].slice(0, block.before);
  assert.equal(before.length, block.before);
  return { ...block, [name]: before.concat(block[name]) };
}

const PIECES = ["a", "b ", "\n", "\n\n", "# ", "- ", "* ", "1. ", "> ", "```", "~~~", "| x | y |\n", "|---|---|\n", "---", "===", "    ", "  ", "\t", "`", "**", "[ ] ", "\r\n", "+ c\n", "2) "];

test("what grew piece by piece is what it would be at once", () => {
  let seed = 11;
  const next = (most) => (seed = (seed * 1103515245 + 12345) % 2147483648) % most;
  for (let round = 0; round < 3000; round += 1) {
    const pieces = Array.from({ length: 2 + next(30) }, () => PIECES[next(PIECES.length)]);
    const text = pieces.join("");
    assert.deepEqual(grown([...text]), bare(blocks(text)), JSON.stringify(text));
  }
});

test("settled blocks are told once, and another text starts over", () => {
  const growing = new Growing();
  const told = ["a\n\nb\n\n", "a\n\nb\n\nc\n", "a\n\nb\n\nc\n\nd\n"].map((text) => { const { settled, open } = growing.update(text, true); return [settled.map((one) => one.text), open.map((one) => one.text)]; });
  assert.deepEqual(told, [[["a"], ["b"]], [["b"], ["c"]], [["c"], ["d"]]]);
  assert.equal(growing.update("other", true).restart, true);
});

test("a line that may become anything is not shown yet", () => {
  for (const [text, expected] of [["a\n-", [p("a")]], ["a\n\n1.", [p("a")]], ["a\n\n``", [p("a")]], ["a\n\n#", [p("a")]], ["a\n=", [p("a")]]]) assert.deepEqual(bare(blocks(text, true)), expected);
  assert.deepEqual(bare(blocks("| a | b |\n|--", true)), [{ kind: "table", align: [], head: ["a", "b"], rows: [] }]);
  assert.deepEqual(bare(blocks("```\nx\n``", true)), [{ kind: "code", language: "", text: "x", closed: false }]);
});

test("20,000 pieces cost no more than their last paragraphs", () => {
  const growing = new Growing(), start = performance.now();
  let text = "";
  for (let count = 0; count < 20_000; count += 1) {
    text += count % 10 ? "some words " : "\n\n";
    growing.update(text, true);
  }
  assert.ok(performance.now() - start < 10_000, `${performance.now() - start} ms`);
});

test("nor do 20,000 items, rows or lines of one block, each told once", () => {
  for (const [first, each, parts] of [["", "- item *x*\n", ({ items }) => items.length], ["| a |\n|---|\n", "| row |\n", ({ rows }) => rows.length], ["", "> a\n>\n", (quote) => quote.blocks.length], ["```\n", "line\n", ({ text }) => text.split("\n").length]]) {
    const growing = new Growing();
    let text = first, told = 0, most = 0;
    for (let count = 0; count < 20_000; count += 1) {
      const { open } = growing.update((text += each), true);
      told += parts(open[0]);
      most = Math.max(most, parts(open[0]));
    }
    assert.ok(most < 5 && told < 80_000, `${each}: ${most} at once, ${told} in all`);
  }
});

test("a list knows that it is loose, however long ago it became so", () => {
  for (const text of ["- a\n\n- b\n- c\n- d\n", "- a\n- b\n\n  more\n- c\n- d\n- e", "- a\n\n  b\nc\n- d\n- e\n", "3. a\n4. b\n\n5. c\n\n---\n- d\n"]) assert.deepEqual(grown([...text]), bare(blocks(text)), text);
});

test("no text takes more than its length, however deep it pretends to be", () => {
  const start = performance.now();
  for (const part of [">", "> ", "- ", "* ", "1. ", "\t", "> - ", "|", "|-", "a|b\n", "- a\n", "#", "```\n", "~~~", "-", "=\n", "a\n\n", "> a\n", "- a\n  - b\n", "1. a\n\n", "    a\n", " \n", "| a |\n|---|\n"]) {
    const text = part.repeat(SIZE / part.length);
    blocks(text);
    blocks(text, true);
  }
  blocks(Array.from({ length: 400 }, (_, at) => `${" ".repeat(at * 2)}- x`).join("\n"));
  assert.ok(performance.now() - start < LIMIT, `${performance.now() - start} ms`);
});

test("tinting loses no character and takes no more than the text's length", () => {
  const texts = ["def f(x):\n    # why\n    return 'a\\'b' + 1.5", "const a = `x ${b}`; // c\n/* d */", "\"".repeat(50_000), "/*".repeat(25_000), "'\\".repeat(25_000), "<!--".repeat(9000), "+a\n-b\n@@ c"];
  for (const text of texts) for (const language of ["python", "js", "json", "rust", "html", "sql", "diff", "", "nonsense"]) assert.equal(tint(text, language).map(([, part]) => part).join(""), text);
  assert.deepEqual(tint("x = 1 # c", "py").map(([kind]) => kind).filter(Boolean), ["number", "comment"]);
});
