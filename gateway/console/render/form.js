// A form from a JSON Schema, as approvals and questions bring one. What no control fits becomes a field of JSON, so any
// schema can be answered. Every field is {node, value(), check() → is it right; what is wrong stands beside it, clear() →
// nothing is wrong}.

import { fill, h, icon } from "../lib/dom.js";
import { choices, control, localTime, resolved, rfc3339, wrong } from "./schema.js";

let ids = 0;

/** `initial`: the value to begin with; `submit(value)`: when all is right; `actions`: nodes beside the button, or
 *  `submitLabel`. Without `submit` there is no button: call `validate()` and `value()`. */
export function formFromSchema(schema, { initial, submit, actions = [], submitLabel = "Send" } = {}) {
  const root = resolved(schema ?? {}, schema);
  const field = build({ schema: root, root: schema, name: "", required: true, initial: initial ?? root.default, deep: 0 });
  const validate = () => field.check();
  const node = h("form", { class: "form stack", noValidate: true, on: { submit: sent } }, field.node,
    (submit || actions.length > 0) && h("div", { class: "row wrap" }, submit && h("button", { class: "btn primary" }, submitLabel), actions));
  function sent(event) {
    event.preventDefault();
    if (validate()) submit?.(field.value());
    else node.querySelector("[aria-invalid='true']")?.focus();
  }
  return { node, validate, value: () => field.value() };
}

function build(given) {
  return FIELDS[control(given.schema, given.deep)](given);
}

/** An object or a list that need not be there, and that nobody has touched, is left out, and nothing in it is missing. */
function leftOut(given, field) {
  if (given.required || given.initial !== undefined) return field;
  const said = () => { try { return JSON.stringify(field.value()); } catch { return null; } }; // null: half of some JSON
  const before = said(), untouched = () => said() === before;
  return { ...field, value: () => (untouched() ? undefined : field.value()), check: () => (untouched() ? field.clear() : field.check()) };
}

/** The frame of one control: label, description, the control, what is wrong. */
function framed({ schema, name, required }, input, read) {
  const id = (input.id = `field-${++ids}`), about = `${id}-about`;
  const problem = h("span", { class: "field-wrong", id: about, role: "alert" });
  const label = name && h("label", { htmlFor: id }, schema.title ?? name, !required && h("span", { class: "muted" }, " optional"));
  if (!name) input.setAttribute("aria-label", schema.title ?? schema.description ?? "Answer");
  input.setAttribute("aria-describedby", about);
  if (required) input.setAttribute("aria-required", "true");
  const node = h("div", { class: "field" }, label, schema.description && h("span", { class: "field-about" }, schema.description), input, problem);
  return { node, value: read, check: () => tell(input, problem, wrong(schema, read(), required)), clear: () => tell(input, problem, "") };
}

function tell(input, problem, words) {
  fill(problem, words);
  input.setAttribute("aria-invalid", String(Boolean(words)));
  return !words;
}

const TYPES = { email: "email", uri: "url", date: "date", password: "password" };

/** A person reads and types the time of this place; the agent is told the moment. */
function moment(given) {
  const shown = localTime(given.initial), input = h("input", { type: "datetime-local", step: 1, value: shown });
  return framed(given, input, () => {
    if (input.value === "") return given.required ? "" : undefined;
    return input.value === shown || `${input.value}:00` === shown ? given.initial : rfc3339(input.value);
  });
}

function text(given) {
  if (given.schema.format === "date-time") return moment(given);
  const { schema, initial } = given;
  const input = h("input", { type: TYPES[schema.format] ?? "text", value: initial ?? "", placeholder: schema.examples?.[0] ?? "", autocomplete: "off" });
  return framed(given, input, () => (input.value === "" && !given.required ? undefined : input.value));
}

function lines(given) {
  const input = h("textarea", { rows: 4, value: given.initial ?? "" });
  return framed(given, input, () => (input.value === "" && !given.required ? undefined : input.value));
}

function number(given) {
  const { schema, initial } = given;
  const input = h("input", { type: "number", value: initial ?? "", min: schema.minimum, max: schema.maximum, step: schema.multipleOf ?? (schema.type === "integer" ? 1 : "any") });
  return framed(given, input, () => (input.value.trim() === "" ? undefined : Number(input.value)));
}

function boolean({ schema, name, initial }) {
  const input = h("input", { type: "checkbox", checked: initial === true });
  const node = h("div", { class: "field" }, h("label", { class: "check" }, input, schema.title ?? (name || "Yes")), schema.description && h("span", { class: "field-about" }, schema.description));
  return { node, value: () => input.checked, check: () => true, clear: () => true };
}

function choice(given) {
  const all = choices(given.schema), at = all.findIndex(({ value }) => Object.is(value, given.initial));
  const empty = h("option", { value: "" }, given.required ? "Choose…" : "None");
  const input = h("select", {}, empty, all.map(({ title, description }, index) => h("option", { value: String(index), title: description }, title)));
  input.value = at >= 0 ? String(at) : all.length === 1 && given.required ? "0" : "";
  return framed(given, input, () => (input.value === "" ? undefined : all[Number(input.value)].value));
}

function manyChoices(given) {
  const { schema, name, initial } = given, all = choices(schema.items), marked = new Set(initial ?? []);
  const boxes = all.map(({ value }) => h("input", { type: "checkbox", checked: marked.has(value) }));
  const value = () => all.filter((_, at) => boxes[at].checked).map((one) => one.value);
  const problem = h("span", { class: "field-wrong", role: "alert" });
  const node = h("fieldset", { class: "field" }, h("legend", {}, schema.title ?? (name || "Choose")), schema.description && h("span", { class: "field-about" }, schema.description),
    all.map(({ title }, at) => h("label", { class: "check" }, boxes[at], title)), problem);
  const tell = (words) => { fill(problem, words); return !words; };
  return leftOut(given, { node, value, clear: () => tell(""), check: () => tell(wrong(schema, value(), given.required)) });
}

function items(given) {
  const { schema, name, initial, root, deep } = given, inner = resolved(schema.items, root), rows = [];
  const list = h("div", { class: "stack" }), problem = h("span", { class: "field-wrong", role: "alert" });
  const title = schema.title ?? (name || "Entries");
  function add(value) {
    const field = build({ schema: inner, root, name: "", required: true, initial: value ?? inner.default, deep: deep + 1 });
    const row = h("div", { class: "form-item" }, h("div", { class: "grow" }, field.node), h("button", { type: "button", class: "btn quiet only", "aria-label": `Remove entry of ${title}`, on: { click: remove } }, icon("trash")));
    function remove() { rows.splice(rows.indexOf(field), 1); row.remove(); }
    rows.push(field);
    list.append(row);
  }
  const least = given.required ? Math.min(schema.minItems ?? 0, 20) : 0;
  for (const value of Array.isArray(initial) ? initial : Array(least).fill(undefined)) add(value);
  const node = h("fieldset", { class: "field" }, h("legend", {}, title), schema.description && h("span", { class: "field-about" }, schema.description), list,
    h("button", { type: "button", class: "btn", on: { click: () => add() } }, icon("plus"), "Add"), problem);
  const value = () => rows.map((row) => row.value());
  const tell = (words) => { fill(problem, words); return !words; };
  const check = () => { const fits = tell(wrong(schema, value(), false)); return rows.map((row) => row.check()).every(Boolean) && fits; };
  return leftOut(given, { node, value, check, clear: () => tell("") });
}

function group(given) {
  const { schema, root, name, initial, deep } = given, needed = new Set(schema.required ?? []);
  const fields = Object.entries(schema.properties).map(([key, inner]) => {
    const own = resolved(inner, root);
    return [key, build({ schema: own, root, name: key, required: needed.has(key), initial: initial?.[key] ?? own.default, deep: deep + 1 })];
  });
  const inside = [schema.description && h("span", { class: "field-about" }, schema.description), fields.map(([, field]) => field.node)];
  const node = name ? h("fieldset", { class: "field stack" }, h("legend", {}, schema.title ?? name), inside) : h("div", { class: "stack" }, inside);
  // What the form does not show is kept as it came: an edited tool call loses none of its arguments.
  const value = () => {
    const told = { ...(initial !== null && typeof initial === "object" ? initial : {}) };
    for (const [key, field] of fields) { const said = field.value(); if (said === undefined) delete told[key]; else told[key] = said; }
    return told;
  };
  const clear = () => fields.map(([, field]) => field.clear()).every(Boolean);
  return leftOut(given, { node, value, clear, check: () => fields.map(([, field]) => field.check()).every(Boolean) });
}

function json(given) {
  const input = h("textarea", { rows: 5, class: "mono", spellcheck: false, value: given.initial === undefined ? "" : JSON.stringify(given.initial, null, 2) });
  const read = () => (input.value.trim() === "" ? undefined : JSON.parse(input.value));
  const field = framed(given, input, read);
  const check = () => {
    try {
      const value = read();
      return tell(input, field.node.lastChild, value === undefined && given.required ? "This is needed, as JSON." : "");
    } catch (problem) {
      return tell(input, field.node.lastChild, `This is not JSON: ${problem.message}`);
    }
  };
  return { ...field, check };
}

const FIELDS = { text, lines, number, integer: number, boolean, choice, choices: manyChoices, items, group, json };
