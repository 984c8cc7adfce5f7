// Entry point: draws the top bar, applies the theme, asks for a token, and routes to the pages.

import { isGatewayUp, tokenRequired, Unreachable } from "./lib/api.js";
import { fill, h, icon } from "./lib/dom.js";
import { route } from "./lib/router.js";
import { askForToken } from "./lib/token.js";

const THEME_KEY = "agui-gateway-theme";
const lazily = (path, name) => async (...args) => (await loadModule(path))[name](...args);

const PAGES = [
  ["/", lazily("./pages/agents.js", "agentsPage")],
  ["/agents/:agent", lazily("./pages/agent.js", "agentPage")],
  ["/agents/:agent/chat", lazily("./chat/page.js", "chatPage")],
  ["/agents/:agent/chat/:thread", lazily("./chat/page.js", "chatPage")],
  ["/matrix", lazily("./pages/matrix.js", "matrixPage")],
  ["/compare", lazily("./pages/compare.js", "comparePage")],
];
const LINKS = [["#/", "Agents", /^\/(agents.*)?$/], ["#/matrix", "Matrix", /^\/matrix/], ["#/compare", "Compare", /^\/compare/]];

/** A browser may remember a failed import until the page reloads. `stale` marks that case for the router. */
function loadModule(path) {
  return import(path).catch(async (problem) => {
    throw (await isGatewayUp()) ? problem : Object.assign(new Unreachable(), { stale: true });
  });
}

/** Built once, so that the icon is not requested again while the gateway is down. */
const brand = h("a", { class: "brand", href: "#/", "aria-label": "agui-gateway" }, h("img", { src: "console/icon.svg", alt: "" }),
  h("span", {}, "agui-gateway"));

function drawBar(path) {
  const links = LINKS.map(([href, name, pattern]) => h("a", { href, "aria-current": pattern.test(path) ? "page" : undefined }, name));
  fill(document.getElementById("bar"),
    brand, h("nav", { "aria-label": "Pages" }, links), h("span", { class: "grow" }), themeButton());
}

function themeButton() {
  const isDark = () => (document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const button = h("button", { class: "btn quiet only", on: { click: toggleTheme } });
  const draw = () => { fill(button, icon(isDark() ? "sun" : "moon")); button.setAttribute("aria-label", isDark() ? "Light theme" : "Dark theme"); };
  function toggleTheme() {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    localStorage.setItem(THEME_KEY, document.documentElement.dataset.theme);
    draw();
  }
  draw();
  return button;
}

const savedTheme = localStorage.getItem(THEME_KEY);
if (savedTheme) document.documentElement.dataset.theme = savedTheme;
tokenRequired.subscribe((isRequired) => isRequired && askForToken());
route(document.getElementById("page"), PAGES, (path) => {
  tokenRequired.value = false; // another page may ask again after the user closed the dialog
  drawBar(path);
});
