// Shows the page named by the URL hash. A page is `async (parameters, query, {abort}) => node`; `abort` is signalled when the
// user navigates away, and everything that the page started must end with it.

import { isGatewayUp, Unreachable, waitForGateway } from "./api.js";
import { fill, h } from "./dom.js";
import { errorNotice } from "./errors.js";

/** `routes`: [["/agents/:agent", page], …], first match wins. `onNavigate(path)` is called before each page. */
export function route(main, routes, onNavigate) {
  let navigation = new AbortController();
  function navigate() {
    navigation.abort();
    navigation = new AbortController();
    const [path, query] = (location.hash.slice(1) || "/").split("?");
    onNavigate(path);
    return show(main, findPage(routes, path), new URLSearchParams(query), navigation.signal);
  }
  addEventListener("hashchange", navigate);
  return navigate();
}

/** Shows the page. After an error, shows the error and tries again until there is a page. */
async function show(main, page, query, abort) {
  while (!abort.aborted) {
    try {
      const node = await page({ query, abort });
      if (!abort.aborted) fill(main, node);
      return;
    } catch (problem) {
      if (abort.aborted) return;
      console.warn(problem);
      await showError(main, problem, abort);
      if (problem.stale && (await isGatewayUp())) location.reload();
    }
  }
}

/** Resolves when the page should be tried again: the user pressed Retry, or the gateway answers. */
function showError(main, problem, abort) {
  return new Promise((retry) => {
    const hadFocus = main.contains(document.activeElement);
    fill(main, h("div", { class: "page" }, errorNotice(problem, problem.permanent ? null : retry)));
    if (hadFocus) main.querySelector("button")?.focus();
    if (problem instanceof Unreachable) waitForGateway(abort).then(retry);
    abort.addEventListener("abort", retry, { once: true });
  });
}

function findPage(routes, path) {
  for (const [pattern, page] of routes) {
    const names = [], shape = pattern.replace(/:(\w+)/g, (_, name) => (names.push(name), "([^/]+)"));
    const match = path.match(new RegExp(`^${shape}$`));
    if (match) {
      const parameters = Object.fromEntries(names.map((name, index) => [name, decodeURIComponent(match[index + 1])]));
      return (context) => page(parameters, context.query, context);
    }
  }
  return async () => { throw Object.assign(new Error(`The console has no page ${path}.`), { permanent: true }); };
}
