// Which page, by what stands behind the #. A page is `async (parameters, query, {abort}) => node`; `abort` is signalled
// when the reader goes elsewhere, and everything that the page started ends with it.

import { alive, back, Unreachable } from "./api.js";
import { fill, h } from "./dom.js";
import { troubleNotice } from "./errors.js";

/** routes: [["/agents/:agent", page], …]; the first that fits. */
export function route(main, routes, moved) {
  let leaving = new AbortController();
  function go() {
    leaving.abort();
    leaving = new AbortController();
    const [path, query] = (location.hash.slice(1) || "/").split("?");
    moved(path);
    return show(main, find(routes, path), new URLSearchParams(query), leaving.signal);
  }
  addEventListener("hashchange", go);
  return go();
}

/** The page, or what is wrong, until there is a page. */
async function show(main, page, query, abort) {
  while (!abort.aborted) {
    try {
      const node = await page({ query, abort });
      if (!abort.aborted) fill(main, node);
      return;
    } catch (problem) {
      if (abort.aborted) return;
      console.warn(problem);
      await told(main, problem, abort);
      if (problem.stale && (await alive())) location.reload();
    }
  }
}

/** Until trying again makes sense: the reader says so, or the gateway answers again. */
function told(main, problem, abort) {
  return new Promise((again) => {
    const pressed = main.contains(document.activeElement);
    fill(main, h("div", { class: "page" }, troubleNotice(problem, problem.hopeless ? null : again)));
    if (pressed) main.querySelector("button")?.focus();
    if (problem instanceof Unreachable) back(abort).then(again);
    abort.addEventListener("abort", again, { once: true });
  });
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
  return async () => { throw Object.assign(new Error(`There is no page ${path}.`), { hopeless: true }); };
}
