// The dialog that asks for the gateway's token. It checks the token with the gateway before it closes.

import { isTokenAccepted, token } from "./api.js";
import { fill, h, openDialog } from "./dom.js";

let isOpen = false;

export async function askForToken() {
  if (isOpen) return;
  isOpen = true;
  const candidate = await openDialog("Token required", buildForm).finally(() => (isOpen = false));
  if (!candidate) return;
  token.value = candidate;
  location.reload();
}

function buildForm(close) {
  const error = h("p", { class: "field-error", id: "token-error", role: "alert" });
  const input = h("input", { type: "password", autocomplete: "off", required: true, id: "token", "aria-describedby": "token-error" });
  const button = h("button", { class: "btn primary" }, "Use token");
  async function onSubmit(event) {
    event.preventDefault();
    button.disabled = true;
    const message = await checkToken(input.value.trim());
    button.disabled = false;
    if (!message) return close(input.value.trim());
    fill(error, message);
    input.setAttribute("aria-invalid", "true");
    input.select();
  }
  return h("form", { class: "form stack", on: { submit: onSubmit } },
    h("div", { class: "field" }, h("label", { htmlFor: "token" },
      "Enter a token from the gateway's token file. The browser keeps it until you close this tab."), input, error), h("div", { class: "row" }, button));
}

/** The error message for the token, or "". */
async function checkToken(candidate) {
  try {
    return (await isTokenAccepted(candidate)) ? "" : "The gateway does not accept this token.";
  } catch (problem) {
    return problem.message;
  }
}
