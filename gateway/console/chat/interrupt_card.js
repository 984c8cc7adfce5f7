// A card for one interrupt: the question, the tool call it is about, the possible answers, and the time left.

import { fill, h, icon } from "../lib/dom.js";
import { diffView, patchView } from "../render/diff.js";
import { formFromSchema } from "../render/form.js";
import { argumentsView } from "./arguments.js";
import { parseArguments, readDiffs } from "./tool_calls.js";
import { configurationView } from "./trust.js";
import { editSchema, readInterrupt, timeLeft } from "./interrupts.js";

let cardCount = 0;

/** `onAnswer(advance)`: called after each change of the answer. */
export function interruptCard(interrupt, session, onAnswer) {
  const request = readInterrupt(interrupt), call = session.model.find("tool", interrupt.toolCallId), id = `question-${(cardCount += 1)}`;
  const clock = h("span", { class: "tag clock", hidden: true, role: "timer" }), answers = h("div", { class: "row wrap answers" }),
    below = h("div", { class: "below" }), outcome = h("div", { class: "answer small", hidden: true });
  const extra = request.extra && formFromSchema(request.extra, {});
  let answer = null;

  const choose = (entry, label) => {
    answer = { interruptId: interrupt.id, ...entry };
    outcome.hidden = false;
    fill(outcome, icon("check"), `Your answer: ${label} `, h("button", { class: "btn quiet", type: "button", on: { click: reset } }, "Change"));
    answers.hidden = below.hidden = true;
    onAnswer();
  };
  function reset() {
    answer = null;
    outcome.hidden = true;
    answers.hidden = below.hidden = false;
    if (request.edits) fill(below);
    onAnswer(false);
    node.focus();
  }
  const resolve = (payload, label) => choose({ status: "resolved",
    ...(payload === undefined ? {} : { payload: { ...filledFields(extra), ...payload } }) }, label);
  const cancel = () => choose({ status: "cancelled" }, "cancelled");

  fill(answers, request.choices.map((choice) => choiceButton(choice, () => (choice.cancels ? cancel() : resolve(choice.payload, choice.label)))),
    request.edits && h("button", { class: "btn", type: "button", on: { click: edit } }, "Approve with changes…"));
  const quietButton = (label, click) => h("button", { class: "btn quiet", type: "button", on: { click } }, label);
  if (request.form) fill(below, formFromSchema(request.form,
    { submit: (payload) => choose({ status: "resolved", payload }, "form completed"), actions: [quietButton("Cancel", cancel)] }).node);
  const feedback = extra && h("details", { class: "extra" }, h("summary", {}, "Add feedback"), extra.node);

  function edit() {
    const args = parseArguments(call?.args ?? ""), submit = (editedArgs) => resolve({ approved: true, editedArgs }, "approved with changes");
    const discard = quietButton("Discard changes", () => { fill(below); answers.hidden = false; });
    const form = formFromSchema(editSchema(request.edits, args), { initial: args, submit, submitLabel: "Approve with these changes", actions: [discard] });
    answers.hidden = true;
    fill(below, form.node);
    below.querySelector("input, textarea, select")?.focus();
  }

  const node = h("article", { class: "card question", tabIndex: -1, "aria-labelledby": id, dataset: { testid: "interrupt" } },
    h("div", { class: "row top" }, h("p", { id, class: "grow question-text" }, request.message), clock),
    configurationView(interrupt), request.form ? collapsedSubject(interrupt, call) : subjectView(interrupt, call), answers, below, feedback, outcome);
  return {
    node,
    hasCancel: Boolean(request.form),
    answer: () => answer,
    /** Returns whether the time is over. */
    tick(now) {
      const left = timeLeft(interrupt.expiresAt, now);
      if (!left) return false;
      clock.hidden = false;
      clock.textContent = left.text;
      clock.className = `tag clock ${left.expired ? "bad" : left.soon ? "warn" : ""}`;
      return left.expired;
    },
  };
}

function choiceButton({ label, about, kind, always }, click) {
  const button = h("button", { class: `btn ${kind === "reject" ? "danger" : always ? "" : "primary"}`, type: "button", on: { click } }, label);
  if (!about) return button;
  const id = `choice-${(cardCount += 1)}`;
  button.setAttribute("aria-describedby", id);
  return h("div", { class: "described-choice" }, button, h("span", { class: "small muted", id }, about));
}

/** The call behind a form, which states its own question, or behind an expired request: shown only when the user opens it. */
export function collapsedSubject(interrupt, call) {
  const subject = subjectView(interrupt, call).flat(Infinity).filter(Boolean);
  return subject.length > 0 && h("details", { class: "extra" }, h("summary", {}, call ? `Details of ${call.name}` : "Details"), subject);
}

/** The subject of the decision: the tool call with its full arguments, or the changes it would make. */
function subjectView(interrupt, call) {
  const subject = Object.values(interrupt.metadata ?? {}).find((entry) => entry?.subject)?.subject ?? {};
  const args = call?.args || (subject.rawInput ? JSON.stringify(subject.rawInput) : "");
  const content = Array.isArray(subject.content) ? subject.content.filter((part) => part?.type === "diff") : [];
  const diffs = content.length ? readDiffs({ meta: { acp: { diffs: content } }, args: "" }) : call ? readDiffs(call) : [];
  const url = interrupt.metadata?.url;
  return [
    call && h("div", { class: "row small" }, icon("tool"), h("strong", {}, call.name)),
    typeof url === "string" && /^https?:/.test(url) && h("a", { href: url, target: "_blank", rel: "noopener noreferrer" }, url),
    diffs.length > 0 ? diffs.map((diff) => (diff.patch === undefined ? diffView(diff) : patchView(diff.patch))) : argumentsView(args),
  ];
}

/** The fields that the user filled in: an empty field is no answer. */
function filledFields(form) {
  const isFilled = ([, value]) => value !== "" && value !== undefined && value !== null && value !== false;
  return form ? Object.fromEntries(Object.entries(form.value() ?? {}).filter(isFilled)) : {};
}
