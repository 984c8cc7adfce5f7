// The shell: the bar, the theme, the token, and which page is shown.

import { refused, token } from "./lib/api.js";
import { fill, h, icon, openDialog } from "./lib/dom.js";
import { route } from "./lib/router.js";

const THEME = "agui-gateway-theme";
const lazily = (path, name) => async (...given) => (await import(path))[name](...given);

const PAGES = [
  ["/", lazily("./pages/agents.js", "agentsPage")],
  ["/agents/:agent", lazily("./pages/agent.js", "agentPage")],
  ["/agents/:agent/chat", lazily("./chat/page.js", "chatPage")],
  ["/agents/:agent/chat/:thread", lazily("./chat/page.js", "chatPage")],
  ["/matrix", lazily("./pages/matrix.js", "matrixPage")],
  ["/compare", lazily("./pages/compare.js", "comparePage")],
];
const LINKS = [["#/", "Agents", /^\/(agents.*)?$/], ["#/matrix", "Matrix", /^\/matrix/], ["#/compare", "Compare", /^\/compare/]];

function bar(path) {
  const links = LINKS.map(([href, name, here]) => h("a", { href, "aria-current": here.test(path) ? "page" : undefined }, name));
  fill(document.getElementById("bar"),
    h("a", { class: "brand", href: "#/" }, h("img", { src: "console/icon.svg", alt: "" }), h("span", {}, "agui-gateway")),
    h("nav", { "aria-label": "Pages" }, links), h("span", { class: "grow" }), themeButton());
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

async function askForToken() {
  const input = h("input", { type: "password", autocomplete: "off", required: true, id: "token" });
  const given = await openDialog("This gateway wants a token", (close) =>
    h("form", { class: "stack", on: { submit: (event) => { event.preventDefault(); close(input.value.trim()); } } },
      h("div", { class: "field" }, h("label", { htmlFor: "token" }, "A line of its token file. It is kept until this tab is closed."), input),
      h("div", { class: "row" }, h("button", { class: "btn primary" }, "Use it"))));
  if (given) { token.value = given; refused.value = false; location.reload(); }
}

const chosen = localStorage.getItem(THEME);
if (chosen) document.documentElement.dataset.theme = chosen;
refused.follow((wanted) => wanted && askForToken());
route(document.getElementById("page"), PAGES, bar);
