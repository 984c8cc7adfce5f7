// Asks for the gateway's token, and whether it is the right one before the dialog goes.

import { accepted, token } from "./api.js";
import { fill, h, openDialog } from "./dom.js";

let asking = false;

export async function askForToken() {
  if (asking) return;
  asking = true;
  const given = await openDialog("This gateway wants a token", form).finally(() => (asking = false));
  if (!given) return;
  token.value = given;
  location.reload();
}

function form(close) {
  const wrong = h("p", { class: "field-wrong", id: "token-wrong", role: "alert" });
  const input = h("input", { type: "password", autocomplete: "off", required: true, id: "token", "aria-describedby": "token-wrong" });
  const button = h("button", { class: "btn primary" }, "Use it");
  async function sent(event) {
    event.preventDefault();
    button.disabled = true;
    const words = await tried(input.value.trim());
    button.disabled = false;
    if (!words) return close(input.value.trim());
    fill(wrong, words);
    input.setAttribute("aria-invalid", "true");
    input.select();
  }
  return h("form", { class: "form stack", on: { submit: sent } },
    h("div", { class: "field" }, h("label", { htmlFor: "token" }, "Each line of its token file has one, behind the name. What you enter is kept until this tab is closed."), input, wrong), h("div", { class: "row" }, button));
}

/** What is wrong with it, or "". */
async function tried(given) {
  try {
    return (await accepted(given)) ? "" : "The gateway does not know this token.";
  } catch (problem) {
    return problem.message;
  }
}
