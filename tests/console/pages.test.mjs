// What the pages show of many agents.
import assert from "node:assert/strict";
import { test } from "node:test";

import { byAgent, facetsOf, matches, sorted } from "../../gateway/console/pages/highlights.js";
import { abilitiesFirst, chosen, differs, sign, words } from "../../gateway/console/pages/matrix_cells.js";

const agent = (id, status, more = {}) => ({ id, driver: "acp", identity: { name: id.toUpperCase(), provider: "Otter Labs" }, options: [], availability: { status }, ...more });

test("ready agents come first, and demo before all of them", () => {
  const listed = [agent("b", "not-installed"), agent("z", "ready"), agent("c", "broken"), agent("demo", "ready"), agent("a", "needs-auth"), agent("e", "ready"), agent("x", "strange")];
  assert.deepEqual(sorted(listed).map(({ id }) => id), ["demo", "e", "z", "a", "b", "c", "x"]);
});

test("a facet is had when the snapshot or an option says so, and not when nobody does", () => {
  assert.deepEqual(facetsOf(agent("a", "ready"), {}), []);
  assert.deepEqual(facetsOf(agent("a", "ready", { options: ["mcpServers", "sessionId"] }), { "multimodal.input.image": true, "reasoning.supported": false }), ["image", "mcp", "resume"]);
});

test("search takes every word, and filters narrow", () => {
  const one = agent("goose", "ready");
  assert.ok(matches(one, { query: "otter GOO" }, []) && !matches(one, { query: "otter cod" }, []));
  assert.ok(!matches(one, { status: "broken" }, []) && matches(one, { status: "ready", facets: ["image"] }, ["image", "mcp"]) && !matches(one, { facets: ["image"] }, []));
});

const said = (value) => ({ value, layer: "profile", source: "a.toml", at: "2026-01-01T00:00:00Z" });
const MATRIX = { agents: ["a", "b"], leaves: { "tools.supported": { a: said(true), b: said(true) }, "reasoning.supported": { a: said(false) }, "identity.name": { a: said("A"), b: said("B") } } };

test("a cell that nobody filled is blank", () => {
  assert.deepEqual([undefined, said(true), said(false), said([1, 2]), said("x")].map((cell) => sign(cell)[0]), ["", "✓", "✗", "[2]", "x"]);
  assert.equal(words("p", "a", undefined), "a: p: unknown");
  assert.equal(words("p", "a", said(true)), "a: p: yes, said by profile (a.toml)");
});

test("rows and columns are left out as wished, and only differences where asked", () => {
  const left = (wish) => { const { rows, columns } = chosen(MATRIX, wish); return [[...rows], [...columns]]; };
  assert.deepEqual(left({ rows: "sup tools" }), [["tools.supported"], ["a", "b"]]);
  assert.deepEqual(left({ differences: true }), [["reasoning.supported", "identity.name"], ["a", "b"]]);
  assert.deepEqual(left({ differences: true, ready: new Set(["a"]) }), [[], ["a"]]);
  assert.ok(differs(MATRIX.leaves["reasoning.supported"], ["a", "b"]));
});

test("the matrix turns to each agent's leaves", () => {
  assert.deepEqual(byAgent({ agents: ["a", "b"], leaves: { p: { a: 1 }, q: { a: 2, b: 3 } } }), { a: { p: 1, q: 2 }, b: { q: 3 } });
  assert.deepEqual(abilitiesFirst([["identity", []], ["tools", []]]).map(([group]) => group), ["tools", "identity"]);
});
