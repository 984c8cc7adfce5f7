// One interrupt as a card: what is asked and about which call, the answers there are, how long it waits.

import { fill, h, icon } from "../lib/dom.js";
import { diffView, patchView } from "../render/diff.js";
import { formFromSchema } from "../render/form.js";
import { argumentsView } from "./arguments.js";
import { diffsOf, parsed } from "./tool_calls.js";
import { editSchema, readQuestion, timeLeft } from "./interrupts.js";

let cards = 0;

export function questionCard(interrupt, session, settled) {
  const asked = readQuestion(interrupt), call = session.model.find("tool", interrupt.toolCallId), id = `question-${(cards += 1)}`;
  const clock = h("span", { class: "tag clock", hidden: true, role: "timer" }), answers = h("div", { class: "row wrap answers" }), below = h("div", { class: "below" }), outcome = h("div", { class: "chosen small", hidden: true });
  const extra = asked.extra && formFromSchema(asked.extra, {});
  let chosen = null, expired = false;

  const choose = (entry, label) => {
    chosen = { interruptId: interrupt.id, ...entry };
    outcome.hidden = false;
    fill(outcome, icon("check"), `Your answer: ${label} `, h("button", { class: "btn quiet", type: "button", on: { click: again } }, "Change"));
    answers.hidden = below.hidden = true;
    settled();
  };
  function again() {
    chosen = null;
    outcome.hidden = true;
    answers.hidden = below.hidden = false;
    if (asked.edits) fill(below);
    settled(false);
    node.focus();
  }
  const resolve = (payload, label) => choose({ status: "resolved", ...(payload === undefined ? {} : { payload: { ...extras(extra), ...payload } }) }, label);
  const cancel = () => choose({ status: "cancelled" }, "cancelled");

  fill(answers, asked.choices.map((choice) => button(choice, () => (choice.cancels ? cancel() : resolve(choice.payload, choice.label)))),
    asked.edits && h("button", { class: "btn", type: "button", on: { click: edit } }, "Approve with changes…"));
  const quiet = (words, click) => h("button", { class: "btn quiet", type: "button", on: { click } }, words);
  if (asked.form) fill(below, formFromSchema(asked.form, { submit: (payload) => choose({ status: "resolved", payload }, "as filled in"), actions: [quiet("Cancel", cancel)] }).node);
  const along = extra && h("details", { class: "extra" }, h("summary", {}, "Say something along with it"), extra.node);

  function edit() {
    const given = parsed(call?.args ?? ""), submit = (editedArgs) => resolve({ approved: true, editedArgs }, "approved, with changes");
    const form = formFromSchema(editSchema(asked.edits, given), { initial: given, submit, submitLabel: "Approve these", actions: [quiet("Never mind", () => { fill(below); answers.hidden = false; })] });
    answers.hidden = true;
    fill(below, form.node);
    below.querySelector("input, textarea, select")?.focus();
  }

  const node = h("article", { class: "card question", tabIndex: -1, "aria-labelledby": id, dataset: { testid: "interrupt" } },
    h("div", { class: "row top" }, h("p", { id, class: "grow asks" }, asked.message), clock), about(interrupt, call), answers, below, along, outcome);
  return {
    node,
    answer: () => (expired ? null : chosen),
    expired: () => expired,
    tick(now) {
      const left = timeLeft(interrupt.expiresAt, now);
      if (!left) return;
      clock.hidden = false;
      clock.textContent = left.words;
      clock.className = `tag clock ${left.expired ? "bad" : left.soon ? "warn" : ""}`;
      if (left.expired && !expired) {
        expired = true;
        node.classList.add("expired");
        fill(answers, h("span", { class: "muted" }, "Nobody answered in time: the agent was told that it is cancelled."));
        answers.hidden = false;
        fill(below);
        settled(false);
      }
    },
  };
}

function button({ label, about: told, kind, always }, click) {
  return h("button", { class: `btn ${kind === "reject" ? "danger" : always ? "" : "primary"}`, type: "button", title: told, on: { click } }, label);
}

/** What the decision is about: the call, its arguments whole, and what it would change. */
function about(interrupt, call) {
  const subject = Object.values(interrupt.metadata ?? {}).find((one) => one?.subject)?.subject ?? {};
  const args = call?.args || (subject.rawInput ? JSON.stringify(subject.rawInput) : "");
  const told = Array.isArray(subject.content) ? subject.content.filter((one) => one?.type === "diff") : [];
  const diffs = told.length ? diffsOf({ meta: { acp: { diffs: told } }, args: "" }) : call ? diffsOf(call) : [];
  const url = interrupt.metadata?.url;
  return [
    call && h("div", { class: "row small" }, icon("tool"), h("strong", {}, call.name)),
    typeof url === "string" && /^https?:/.test(url) && h("a", { href: url, target: "_blank", rel: "noopener noreferrer" }, url),
    diffs.length > 0 ? diffs.map((diff) => (diff.patch === undefined ? diffView(diff) : patchView(diff.patch))) : argumentsView(args),
  ];
}

/** Only what was filled in: an empty field is no answer. */
function extras(form) {
  return form ? Object.fromEntries(Object.entries(form.value() ?? {}).filter(([, value]) => value !== "" && value !== undefined && value !== null && value !== false)) : {};
}
