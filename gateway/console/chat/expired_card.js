// A card for requests that were not answered: the turn that asked is over, so they cannot be answered any more.

import { h, icon, toast } from "../lib/dom.js";
import { collapsedSubject } from "./interrupt_card.js";

const CAUSES = {
  "gateway-restarted": "The gateway was restarted before you answered. The agent's turn ended with it.",
  "not-answered-in-time": "There was no answer in time. The gateway cancelled the request.",
};

export function expiredCard(interrupts, session) {
  const act = (action) => Promise.resolve(action()).catch((problem) => toast(problem.message, "bad"));
  const [{ cause }] = interrupts;
  return h("article", { class: "card question expired", "aria-label": "Expired requests", dataset: { testid: "expired" } },
    interrupts.map((interrupt) => h("div", { class: "stack tight" },
      h("div", { class: "row top" }, h("p", { class: "grow question-text" }, interrupt.message || "The agent requested your input."),
        h("span", { class: "tag" }, "expired")),
      collapsedSubject(interrupt, session.model.find("tool", interrupt.toolCallId)))),
    h("p", { class: "small muted" }, CAUSES[cause] ?? "The agent's turn is over.",
      " “Ask again” sends a message that lets the agent continue in the same session."),
    h("div", { class: "row wrap answers" },
      h("button", { class: "btn primary", type: "button", on: { click: () => act(() => session.askAgain()) } }, icon("history"), "Ask again"),
      h("button", { class: "btn quiet", type: "button", on: { click: () => act(() => session.dismissExpired()) } }, "Dismiss")));
}
