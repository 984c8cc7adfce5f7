// A card for a call of a client tool. A console tool becomes a question with buttons; for a tool of another client the user can
// enter the result.

import { h, icon } from "../lib/dom.js";
import { isConsoleTool, readQuestion } from "./client_tools.js";

export function toolCallCard(id, session, onAnswer) {
  const call = session.model.find("tool", id) ?? { name: "tool", args: "" };
  let content;
  const answer = (text) => { content = text; onAnswer(); };
  const node = h("article", { class: "card question", tabIndex: -1, dataset: { testid: "client-tool" } },
    isConsoleTool(call.name) ? questionView(call, answer) : resultForm(call, answer));
  return { node, answer: () => (content === undefined ? null : { toolCallId: id, content }) };
}

function questionView({ name, args }, answer) {
  const { text, options } = readQuestion(args);
  return [
    h("p", { class: "question-text" }, text), h("p", { class: "row small muted" }, icon("tool"), `The agent called ${name}, a tool that this page provides.`),
    h("div", { class: "row wrap answers" }, options.map(({ label, about }) => [h("button", { class: "btn", type: "button", on: { click: () => answer(label) } }, label),
      about && h("span", { class: "small muted" }, about)]),
      h("button", { class: "btn quiet", type: "button", on: { click: () => answer("The user picked none of the options.") } }, "None of these")),
  ];
}

function resultForm({ name, args }, answer) {
  const field = h("textarea", { rows: 2, "aria-label": "Tool result" });
  return [
    h("p", { class: "question-text" }, `The agent waits for the result of ${name}.`),
      h("p", { class: "small muted" }, "This page does not provide that tool. You can enter the result yourself, or send a message to continue without it."),
    args && h("pre", { class: "args" }, args), field,
    h("div", { class: "row answers" }, h("button", { class: "btn primary", type: "button", on: { click: () => answer(field.value) } }, "Send result")),
  ];
}
