// Which page, by what stands behind the #. A page is `async (parameters, query, {abort}) => node`; `abort` is signalled
// when the reader goes elsewhere, and everything that the page started ends with it.

import { fill, h } from "./dom.js";

/** routes: [["/agents/:agent", page], …]; the first that fits. */
export function route(main, routes, moved) {
  let leaving = new AbortController();
  async function go() {
    leaving.abort();
    leaving = new AbortController();
    const { signal: abort } = leaving;
    const [path, query] = (location.hash.slice(1) || "/").split("?");
    moved(path);
    try {
      const node = await find(routes, path)({ query: new URLSearchParams(query), abort });
      if (!abort.aborted) fill(main, node);
    } catch (problem) {
      if (!abort.aborted) fill(main, h("div", { class: "page" }, h("div", { class: "notice bad", role: "alert" }, String(problem.message ?? problem))));
      console.warn(problem);
    }
  }
  addEventListener("hashchange", go);
  return go();
}

function find(routes, path) {
  for (const [pattern, page] of routes) {
    const names = [], shape = pattern.replace(/:(\w+)/g, (_, name) => (names.push(name), "([^/]+)"));
    const found = path.match(new RegExp(`^${shape}$`));
    if (found) {
      const parameters = Object.fromEntries(names.map((name, index) => [name, decodeURIComponent(found[index + 1])]));
      return (context) => page(parameters, context.query, context);
    }
  }
  return () => { throw new Error(`There is no page ${path}.`); };
}
