// The shell: the bar, the theme, the token, and which page is shown.

import { alive, refused, Unreachable } from "./lib/api.js";
import { fill, h, icon } from "./lib/dom.js";
import { route } from "./lib/router.js";
import { askForToken } from "./lib/token.js";

const THEME = "agui-gateway-theme";
const lazily = (path, name) => async (...given) => (await load(path))[name](...given);

const PAGES = [
  ["/", lazily("./pages/agents.js", "agentsPage")],
  ["/agents/:agent", lazily("./pages/agent.js", "agentPage")],
  ["/agents/:agent/chat", lazily("./chat/page.js", "chatPage")],
  ["/agents/:agent/chat/:thread", lazily("./chat/page.js", "chatPage")],
  ["/matrix", lazily("./pages/matrix.js", "matrixPage")],
  ["/compare", lazily("./pages/compare.js", "comparePage")],
];
const LINKS = [["#/", "Agents", /^\/(agents.*)?$/], ["#/matrix", "Matrix", /^\/matrix/], ["#/compare", "Compare", /^\/compare/]];

/** A module that could not be had may stay so until the page is loaded anew (`stale`). */
function load(path) {
  return import(path).catch(async (problem) => {
    throw (await alive()) ? problem : Object.assign(new Unreachable(), { stale: true });
  });
}

/** Made once: a picture that is there need not be had again from a gateway that is away. */
const brand = h("a", { class: "brand", href: "#/", "aria-label": "agui-gateway" }, h("img", { src: "console/icon.svg", alt: "" }), h("span", {}, "agui-gateway"));

function bar(path) {
  const links = LINKS.map(([href, name, here]) => h("a", { href, "aria-current": here.test(path) ? "page" : undefined }, name));
  fill(document.getElementById("bar"),
    brand, h("nav", { "aria-label": "Pages" }, links), h("span", { class: "grow" }), themeButton());
}

function themeButton() {
  const dark = () => (document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const button = h("button", { class: "btn quiet only", on: { click: turn } });
  const show = () => { fill(button, icon(dark() ? "sun" : "moon")); button.setAttribute("aria-label", dark() ? "Light colours" : "Dark colours"); };
  function turn() {
    document.documentElement.dataset.theme = dark() ? "light" : "dark";
    localStorage.setItem(THEME, document.documentElement.dataset.theme);
    show();
  }
  show();
  return button;
}

const chosen = localStorage.getItem(THEME);
if (chosen) document.documentElement.dataset.theme = chosen;
refused.follow((wanted) => wanted && askForToken());
route(document.getElementById("page"), PAGES, (path) => {
  refused.value = false; // whoever declined may be asked once more by another page
  bar(path);
});
