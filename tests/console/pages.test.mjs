// The logic of the agents, matrix and compare pages.
import assert from "node:assert/strict";
import { test } from "node:test";

import { findFacets, groupByAgent, matchesFilter, sortAgents } from "../../gateway/console/pages/highlights.js";
import { cellLabel, cellMark, differs, filterMatrix, identityLast } from "../../gateway/console/pages/matrix_cells.js";

const agent = (id, status, fields = {}) => ({ id, driver: "acp", identity: { name: id.toUpperCase(), provider: "Otter Labs" }, options: [],
  availability: { status }, ...fields });

test("ready agents come first, and demo before all of them", () => {
  const listed = [agent("b", "not-installed"), agent("z", "ready"), agent("c", "broken"), agent("demo", "ready"), agent("a", "needs-auth"),
    agent("e", "ready"), agent("x", "strange")];
  assert.deepEqual(sortAgents(listed).map(({ id }) => id), ["demo", "e", "z", "a", "b", "c", "x"]);
});

test("an agent has a facet if the snapshot or an option reports it, and not if it is unknown", () => {
  assert.deepEqual(findFacets(agent("a", "ready"), {}), []);
  assert.deepEqual(findFacets(agent("a", "ready", { options: ["mcpServers", "sessionId"] }),
    { "multimodal.input.image": true, "reasoning.supported": false }), ["image", "mcp", "resume"]);
});

test("a search matches all words, and filters narrow the result", () => {
  const goose = agent("goose", "ready");
  assert.ok(matchesFilter(goose, { query: "otter GOO" }, []) && !matchesFilter(goose, { query: "otter cod" }, []));
  assert.ok(!matchesFilter(goose, { status: "broken" }, []) && matchesFilter(goose, { status: "ready", facets: ["image"] }, ["image", "mcp"])
    && !matchesFilter(goose, { facets: ["image"] }, []));
});

const statement = (value) => ({ value, layer: "profile", source: "a.toml", since: "2026-01-01T00:00:00Z" });
const MATRIX = { agents: ["a", "b"], leaves: { "tools.supported": { a: statement(true), b: statement(true) },
  "reasoning.supported": { a: statement(false) }, "identity.name": { a: statement("A"), b: statement("B") } } };

test("a cell without a value is blank", () => {
  assert.deepEqual([undefined, statement(true), statement(false), statement([1, 2]), statement("x")].map((cell) => cellMark(cell)[0]),
    ["", "✓", "✗", "[2]", "x"]);
  assert.equal(cellLabel("p", "a", undefined), "a: p: unknown");
  assert.equal(cellLabel("p", "a", statement(true)), "a: p: yes, source: profile (a.toml)");
});

test("filters hide rows and columns, and can show only differences", () => {
  const visible = (filter) => { const { rows, columns } = filterMatrix(MATRIX, filter); return [[...rows], [...columns]]; };
  assert.deepEqual(visible({ rows: "sup tools" }), [["tools.supported"], ["a", "b"]]);
  assert.deepEqual(visible({ differences: true }), [["reasoning.supported", "identity.name"], ["a", "b"]]);
  assert.deepEqual(visible({ differences: true, ready: new Set(["a"]) }), [[], ["a"]]);
  assert.ok(differs(MATRIX.leaves["reasoning.supported"], ["a", "b"]));
});

test("the matrix is grouped by agent", () => {
  assert.deepEqual(groupByAgent({ agents: ["a", "b"], leaves: { p: { a: 1 }, q: { a: 2, b: 3 } } }), { a: { p: 1, q: 2 }, b: { q: 3 } });
  assert.deepEqual(identityLast([["identity", []], ["tools", []]]).map(([group]) => group), ["tools", "identity"]);
});
