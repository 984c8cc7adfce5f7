// A call of a tool that the page brings along, waiting for the page: ours as a question with buttons, one that is not ours
// (another page offered it) as a field for whatever it would have given back.

import { h, icon } from "../lib/dom.js";
import { isOwn, question } from "./client_tools.js";

export function callCard(id, session, settled) {
  const call = session.model.find("tool", id) ?? { name: "tool", args: "" };
  let content;
  const give = (words) => { content = words; settled(); };
  const node = h("article", { class: "card question", tabIndex: -1, dataset: { testid: "client-tool" } }, isOwn(call.name) ? picking(call, give) : byHand(call, give));
  return { node, answer: () => (content === undefined ? null : { toolCallId: id, content }) };
}

function picking({ name, args }, give) {
  const { words, options } = question(args);
  return [
    h("p", { class: "asks" }, words), h("p", { class: "row small muted" }, icon("tool"), `The agent called ${name}, a tool of this page.`),
    h("div", { class: "row wrap answers" }, options.map((option) => h("button", { class: "btn", type: "button", on: { click: () => give(option) } }, option)),
      h("button", { class: "btn quiet", type: "button", on: { click: () => give("The person picked none.") } }, "None of these")),
  ];
}

function byHand({ name, args }, give) {
  const field = h("textarea", { rows: 2, "aria-label": "What the tool gives back" });
  return [
    h("p", { class: "asks" }, `${name} waits for a result.`), h("p", { class: "small muted" }, "This page has no such tool. You can answer in its place, or send a message and go on without it."),
    args && h("pre", { class: "args" }, args), field,
    h("div", { class: "row answers" }, h("button", { class: "btn primary", type: "button", on: { click: () => give(field.value) } }, "Give it back")),
  ];
}
