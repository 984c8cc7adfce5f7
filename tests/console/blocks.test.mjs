// Markdown blocks, parsed at once and incrementally.
import assert from "node:assert/strict";
import { test } from "node:test";

import { parseMarkdown, splitCells } from "../../gateway/console/render/blocks.js";
import { StreamingBlocks } from "../../gateway/console/render/streaming_blocks.js";
import { highlight } from "../../gateway/console/render/highlight.js";

const SIZE = 1 << 17;
const TIME_LIMIT_MS = 20_000; // linear work takes a second

const withoutPositions = (parsed) => JSON.parse(JSON.stringify(parsed,
  (key, value) => (["raw", "from", "to", "gap", "fence", "before", "carried"].includes(key) ? undefined : value)));
const p = (text) => ({ kind: "paragraph", text });

test("each kind of block is parsed", () => {
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
  ]) assert.deepEqual(withoutPositions(parseMarkdown(text)), expected, text);
});

test("lists nest, count, and have tasks", () => {
  const [list] = withoutPositions(parseMarkdown("- a\n  b\n  1. x\n  2. y\n- [x] done\n- [ ] to do"));
  assert.deepEqual(list.items.map((item) => [item.checked ?? null, item.blocks.map((block) => block.text ?? block.items.length)]),
    [[null, ["a\nb", 2]], [true, ["done"]], [false, ["to do"]]]);
  assert.deepEqual(withoutPositions(parseMarkdown("3. a\n\n4. b")),
    [{ kind: "list", start: 3, loose: true, items: [{ blocks: [p("a")] }, { blocks: [p("b")] }] }]);
  assert.deepEqual(withoutPositions(parseMarkdown("a\n2. b")), [p("a\n2. b")]); // only a list from 1 breaks into a paragraph
  assert.deepEqual(withoutPositions(parseMarkdown("- ```\n  x\n  ```"))[0].items[0].blocks, [{ kind: "code", language: "", text: "x", closed: true }]);
});

test("a table needs its line of dashes, with as many columns", () => {
  assert.deepEqual(withoutPositions(parseMarkdown("| a | b |\n|:-|-:|\n| 1 | 2 |\nx")),
    [{ kind: "table", align: ["left", "right"], head: ["a", "b"], rows: ["| 1 | 2 |", "x"] }]);
  assert.deepEqual(withoutPositions(parseMarkdown("a | b\n--- | --- | ---")), [p("a | b\n--- | --- | ---")]);
  assert.deepEqual(splitCells("| a \\| b | `c` |"), ["a | b", "`c`"]);
});

/** All blocks of a text that arrives in these pieces. */
function parsePieces(pieces) {
  const parser = new StreamingBlocks(), completed = [];
  let text = "", open = [];
  const apply = (update) => {
    const [first, ...others] = [...update.completed, ...update.open], all = first ? [joinBlock(open[0], first), ...others] : [];
    assert.equal(update.restart, false);
    completed.push(...all.slice(0, update.completed.length));
    open = all.slice(update.completed.length);
  };
  for (const piece of pieces) apply(parser.update((text += piece), true));
  apply(parser.update(text, false));
  return withoutPositions([...completed, ...open]);
}

/** A continued block, with the parts that were reported before. */
function joinBlock(old, block) {
  if (!block.before) return block;
  assert.equal(old?.kind, block.kind);
  const name = { list: "items", table: "rows", quote: "blocks", code: "text" }[block.kind], before = old[name].slice(0, block.before);
  assert.equal(before.length, block.before);
  return { ...block, [name]: before.concat(block[name]) };
}

const PIECES = ["a", "b ", "\n", "\n\n", "# ", "- ", "* ", "1. ", "> ", "```", "~~~", "| x | y |\n", "|---|---|\n", "---", "===", "    ", "  ", "\t",
  "`", "**", "[ ] ", "\r\n", "+ c\n", "2) "];

test("a text parsed piece by piece gives the same blocks as the whole text", () => {
  let seed = 11;
  const nextRandom = (limit) => (seed = (seed * 1103515245 + 12345) % 2147483648) % limit;
  for (let round = 0; round < 3000; round += 1) {
    const pieces = Array.from({ length: 2 + nextRandom(30) }, () => PIECES[nextRandom(PIECES.length)]);
    const text = pieces.join("");
    assert.deepEqual(parsePieces([...text]), withoutPositions(parseMarkdown(text)), JSON.stringify(text));
  }
});

test("final blocks are reported once, and a different text restarts", () => {
  const parser = new StreamingBlocks();
  const updates = ["a\n\nb\n\n", "a\n\nb\n\nc\n",
    "a\n\nb\n\nc\n\nd\n"].map((text) => { const { completed, open } = parser.update(text, true); return [completed.map((block) => block.text),
    open.map((block) => block.text)]; });
  assert.deepEqual(updates, [[["a"], ["b"]], [["b"], ["c"]], [["c"], ["d"]]]);
  assert.equal(parser.update("other", true).restart, true);
});

test("an ambiguous last line is not shown yet", () => {
  for (const [text, expected] of [["a\n-", [p("a")]], ["a\n\n1.", [p("a")]], ["a\n\n``", [p("a")]], ["a\n\n#", [p("a")]],
    ["a\n=", [p("a")]]]) assert.deepEqual(withoutPositions(parseMarkdown(text, true)), expected);
  assert.deepEqual(withoutPositions(parseMarkdown("| a | b |\n|--", true)), [{ kind: "table", align: [], head: ["a", "b"], rows: [] }]);
  assert.deepEqual(withoutPositions(parseMarkdown("```\nx\n``", true)), [{ kind: "code", language: "", text: "x", closed: false }]);
});

test("20,000 updates cost no more than their last paragraphs", () => {
  const parser = new StreamingBlocks(), start = performance.now();
  let text = "";
  for (let count = 0; count < 20_000; count += 1) {
    text += count % 10 ? "some words " : "\n\n";
    parser.update(text, true);
  }
  assert.ok(performance.now() - start < 10_000, `${performance.now() - start} ms`);
});

test("20,000 items, rows or lines of one block are each reported once", () => {
  for (const [first, each, parts] of [["", "- item *x*\n", ({ items }) => items.length], ["| a |\n|---|\n", "| row |\n", ({ rows }) => rows.length],
    ["", "> a\n>\n", (quote) => quote.blocks.length], ["```\n", "line\n", ({ text }) => text.split("\n").length]]) {
    const parser = new StreamingBlocks();
    let text = first, reported = 0, most = 0;
    for (let count = 0; count < 20_000; count += 1) {
      const { open } = parser.update((text += each), true);
      reported += parts(open[0]);
      most = Math.max(most, parts(open[0]));
    }
    assert.ok(most < 5 && reported < 80_000, `${each}: ${most} at once, ${reported} in all`);
  }
});

test("a list stays loose after its loose part is final", () => {
  for (const text of ["- a\n\n- b\n- c\n- d\n", "- a\n- b\n\n  more\n- c\n- d\n- e", "- a\n\n  b\nc\n- d\n- e\n",
    "3. a\n4. b\n\n5. c\n\n---\n- d\n"]) assert.deepEqual(parsePieces([...text]), withoutPositions(parseMarkdown(text)), text);
});

test("parsing takes linear time, also for deep nesting", () => {
  const start = performance.now();
  for (const part of [">", "> ", "- ", "* ", "1. ", "\t", "> - ", "|", "|-", "a|b\n", "- a\n", "#", "```\n", "~~~", "-", "=\n", "a\n\n", "> a\n",
    "- a\n  - b\n", "1. a\n\n", "    a\n", " \n", "| a |\n|---|\n"]) {
    const text = part.repeat(SIZE / part.length);
    parseMarkdown(text);
    parseMarkdown(text, true);
  }
  parseMarkdown(Array.from({ length: 400 }, (_, at) => `${" ".repeat(at * 2)}- x`).join("\n"));
  assert.ok(performance.now() - start < TIME_LIMIT_MS, `${performance.now() - start} ms`);
});

test("highlighting keeps every character and takes linear time", () => {
  const texts = ["def f(x):\n    # why\n    return 'a\\'b' + 1.5", "const a = `x ${b}`; // c\n/* d */", "\"".repeat(50_000), "/*".repeat(25_000),
    "'\\".repeat(25_000), "<!--".repeat(9000), "+a\n-b\n@@ c"];
  for (const text of texts) for (const language of ["python", "js", "json", "rust", "html", "sql", "diff", "",
    "nonsense"]) assert.equal(highlight(text, language).map(([, part]) => part).join(""), text);
  assert.deepEqual(highlight("x = 1 # c", "py").map(([kind]) => kind).filter(Boolean), ["number", "comment"]);
});
