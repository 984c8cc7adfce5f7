// What went wrong, as a person reads it, with the one thing that can be done about it.

import { Unreachable } from "./api.js";
import { h, icon } from "./dom.js";
import { askForToken } from "./token.js";

/** `again`: tries once more. */
export function troubleNotice(problem, again, kind = "bad") {
  const [words, label, act] = remedyOf(problem, again);
  return h("div", { class: `notice ${kind}`, role: "alert", dataset: { testid: "trouble" } },
    h("div", { class: "row wrap" }, icon("warn"), h("span", { class: "grow words" }, words), act && h("button", { class: "btn", type: "button", on: { click: act } }, label)));
}

function remedyOf(problem, again) {
  if (problem.status === 401) return ["This gateway is locked: it shows nothing without a token.", "Enter the token", askForToken];
  if (problem instanceof Unreachable) return [`${problem.message} This page comes back by itself when it answers.`, "Try again", again];
  return [String(problem.message ?? problem), "Try again", again];
}
