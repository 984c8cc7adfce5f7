// Notices for errors: a message, and a button with the next step where there is one.

import { Unreachable } from "./api.js";
import { h, icon } from "./dom.js";
import { askForToken } from "./token.js";

/** `retry`: called when the user presses the button; null: there is no button. */
export function errorNotice(problem, retry, kind = "bad") {
  const [message, label, act] = describeError(problem, retry);
  return h("div", { class: `notice ${kind}`, role: "alert", dataset: { testid: "error-notice" } },
    h("div", { class: "row wrap" }, icon("warn"), h("span", { class: "grow message-text" }, message),
       act && h("button", { class: "btn", type: "button", on: { click: act } }, label)));
}

function describeError(problem, retry) {
  if (problem.status === 401) return ["This gateway requires a token.", "Enter token", askForToken];
  if (problem instanceof Unreachable) return [`${problem.message} This page loads as soon as the gateway answers.`, "Retry", retry];
  return [String(problem.message ?? problem), "Retry", retry];
}
