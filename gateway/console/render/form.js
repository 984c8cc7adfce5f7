// Builds a form from a JSON Schema, for approvals and questions. A schema that fits no control becomes a JSON field, so every
// schema can be answered. A field is {node, value(), check(), clear()}: `check` shows the error and returns whether the value
// is valid; `clear` removes the error.

import { fill, h, icon } from "../lib/dom.js";
import { choices, controlFor, fromLocalTime, resolveSchema, toLocalTime, validationError } from "./schema.js";

let ids = 0;
/** Of more options, a list. */
const MAX_RADIOS = 8;

/** `initial`: the initial value; `submit(value)`: called with a valid value; `actions`: nodes beside the submit button.
 *  `empty`: the label of an optional choice that is not made. Without `submit` there is no button: the caller uses `validate()` and `value()`. */
export function formFromSchema(schema, { initial, submit, actions = [], submitLabel = "Send", empty = "None" } = {}) {
  const root = resolveSchema(schema ?? {}, schema);
  const rootField = buildField({ schema: root, root: schema, name: "", required: true, initial: initial ?? root.default, depth: 0, empty });
  const validate = () => rootField.check();
  const node = h("form", { class: "form stack", noValidate: true, on: { submit: onSubmit } }, rootField.node,
    (submit || actions.length > 0) && h("div", { class: "row wrap" }, submit && h("button", { class: "btn primary" }, submitLabel), actions));
  function onSubmit(event) {
    event.preventDefault();
    if (validate()) submit?.(rootField.value());
    else node.querySelector("[aria-invalid='true']")?.focus();
  }
  return { node, validate, value: () => rootField.value() };
}

function buildField(spec) {
  return FIELDS[controlFor(spec.schema, spec.depth)](spec);
}

/** An optional object or list that the user did not touch is left out of the value, and its fields are not checked. */
function omitIfUntouched(spec, field) {
  if (spec.required || spec.initial !== undefined) return field;
  const serialize = () => { try { return JSON.stringify(field.value()); } catch { return null; } }; // null: incomplete JSON
  const before = serialize(), isUntouched = () => serialize() === before;
  return { ...field, value: () => (isUntouched() ? undefined : field.value()), check: () => (isUntouched() ? field.clear() : field.check()) };
}

/** One control with label, description and error. */
function labelledField({ schema, name, required }, input, read) {
  const id = (input.id = `field-${++ids}`), about = `${id}-about`;
  const problem = h("span", { class: "field-error", id: about, role: "alert" });
  const label = name && h("label", { htmlFor: id }, schema.title ?? name, !required && h("span", { class: "muted" }, " (optional)"));
  if (!name) input.setAttribute("aria-label", schema.title ?? schema.description ?? "Answer");
  input.setAttribute("aria-describedby", about);
  if (required) input.setAttribute("aria-required", "true");
  const node = h("div", { class: "field" }, label, schema.description && h("span", { class: "field-about" }, schema.description), input, problem);
  return { node, value: read, check: () => showError(input, problem, validationError(schema, read(), required)), clear: () => showError(input, problem, "") };
}

function showError(input, problem, message) {
  fill(problem, message);
  input.setAttribute("aria-invalid", String(Boolean(message)));
  return !message;
}

const INPUT_TYPES = { email: "email", uri: "url", date: "date", password: "password" };

/** The user reads and types local time; the agent receives RFC 3339 with an offset. */
function dateTime(spec) {
  const shown = toLocalTime(spec.initial), input = h("input", { type: "datetime-local", step: 1, value: shown });
  return labelledField(spec, input, () => {
    if (input.value === "") return spec.required ? "" : undefined;
    return input.value === shown || `${input.value}:00` === shown ? spec.initial : fromLocalTime(input.value);
  });
}

function text(spec) {
  if (spec.schema.format === "date-time") return dateTime(spec);
  const { schema, initial } = spec;
  const input = h("input", { type: INPUT_TYPES[schema.format] ?? "text", value: initial ?? "", placeholder: schema.examples?.[0] ?? "", autocomplete: "off" });
  return labelledField(spec, input, () => (input.value === "" && !spec.required ? undefined : input.value));
}

function lines(spec) {
  const input = h("textarea", { rows: 4, value: spec.initial ?? "" });
  return labelledField(spec, input, () => (input.value === "" && !spec.required ? undefined : input.value));
}

function number(spec) {
  const { schema, initial } = spec;
  const input = h("input", { type: "number", value: initial ?? "", min: schema.minimum, max: schema.maximum,
    step: schema.multipleOf ?? (schema.type === "integer" ? 1 : "any") });
  return labelledField(spec, input, () => (input.value.trim() === "" ? undefined : Number(input.value)));
}

function boolean({ schema, name, initial }) {
  const input = h("input", { type: "checkbox", checked: initial === true });
  const node = h("div", { class: "field" }, h("label", { class: "check" }, input, schema.title ?? (name || "Yes")),
    schema.description && h("span", { class: "field-about" }, schema.description));
  return { node, value: () => input.checked, check: () => true, clear: () => true };
}

function choice(spec) {
  const all = choices(spec.schema);
  return all.length <= MAX_RADIOS && all.some(({ description }) => description) ? radios(spec, all) : list(spec, all);
}

/** A few options with descriptions, which a list would hide. */
function radios({ schema, name, required, initial }, all) {
  const group = `field-${++ids}`, problem = h("span", { class: "field-error", role: "alert" });
  const options = required ? all : [...all, { title: "No answer", value: undefined }];
  const inputs = options.map(({ value }) => h("input", { type: "radio", name: group, checked: Object.is(value, initial) }));
  const value = () => options[inputs.findIndex(({ checked }) => checked)]?.value;
  const node = h("fieldset", { class: "field" }, h("legend", {}, schema.title ?? (name || "Choose"), !required && h("span", { class: "muted" }, " (optional)")),
    schema.description && h("span", { class: "field-about" }, schema.description),
    options.map(({ title, description }, at) => checkRow(inputs[at], title, description)), problem);
  const showMessage = (message) => {
    fill(problem, message);
    for (const input of inputs) input.setAttribute("aria-invalid", String(Boolean(message)));
    return !message;
  };
  return { node, value, clear: () => showMessage(""), check: () => showMessage(validationError(schema, value(), required)) };
}

/** A box or a radio button with its label, and the description below it. */
function checkRow(input, title, description) {
  const label = h("label", { class: "check" }, input, title);
  if (!description) return label;
  input.setAttribute("aria-describedby", (input.id = `field-${++ids}`) + "-about");
  return h("div", { class: "described-check" }, label, h("span", { class: "field-about", id: `${input.id}-about` }, description));
}

function list(spec, all) {
  const at = all.findIndex(({ value }) => Object.is(value, spec.initial));
  const empty = h("option", { value: "" }, spec.required ? "Choose…" : spec.empty);
  const input = h("select", {}, empty, all.map(({ title, description }, index) => h("option", { value: String(index), title: description }, title)));
  input.value = at >= 0 ? String(at) : all.length === 1 && spec.required ? "0" : "";
  return labelledField(spec, input, () => (input.value === "" ? undefined : all[Number(input.value)].value));
}

function manyChoices(spec) {
  const { schema, name, initial } = spec, all = choices(schema.items), marked = new Set(initial ?? []);
  const boxes = all.map(({ value }) => h("input", { type: "checkbox", checked: marked.has(value) }));
  const value = () => all.filter((_, at) => boxes[at].checked).map((option) => option.value);
  const problem = h("span", { class: "field-error", role: "alert" });
  const node = h("fieldset", { class: "field" }, h("legend", {}, schema.title ?? (name || "Choose")),
    schema.description && h("span", { class: "field-about" }, schema.description),
    all.map(({ title, description }, at) => checkRow(boxes[at], title, description)), problem);
  const showMessage = (message) => { fill(problem, message); return !message; };
  return omitIfUntouched(spec, { node, value, clear: () => showMessage(""), check: () => showMessage(validationError(schema, value(), spec.required)) });
}

function items(spec) {
  const { schema, name, initial, root, depth } = spec, inner = resolveSchema(schema.items, root), rows = [];
  const list = h("div", { class: "stack" }), problem = h("span", { class: "field-error", role: "alert" });
  const title = schema.title ?? (name || "Entries");
  function add(value) {
    const field = buildField({ schema: inner, root, name: "", required: true, initial: value ?? inner.default, depth: depth + 1, empty: spec.empty });
    const row = h("div", { class: "form-item" }, h("div", { class: "grow" }, field.node),
      h("button", { type: "button", class: "btn quiet only", "aria-label": `Remove entry of ${title}`, on: { click: remove } }, icon("trash")));
    function remove() { rows.splice(rows.indexOf(field), 1); row.remove(); }
    rows.push(field);
    list.append(row);
  }
  const least = spec.required ? Math.min(schema.minItems ?? 0, 20) : 0;
  for (const value of Array.isArray(initial) ? initial : Array(least).fill(undefined)) add(value);
  const node = h("fieldset", { class: "field" }, h("legend", {}, title), schema.description && h("span", { class: "field-about" }, schema.description), list,
    h("button", { type: "button", class: "btn", on: { click: () => add() } }, icon("plus"), "Add"), problem);
  const value = () => rows.map((row) => row.value());
  const showMessage = (message) => { fill(problem, message); return !message; };
  const check = () => {
    const isValid = showMessage(validationError(schema, value(), false));
    return rows.map((row) => row.check()).every(Boolean) && isValid;
  };
  return omitIfUntouched(spec, { node, value, check, clear: () => showMessage("") });
}

function group(spec) {
  const { schema, root, name, initial, depth, empty } = spec, required = new Set(schema.required ?? []);
  const fields = Object.entries(schema.properties).map(([key, inner]) => {
    const fieldSchema = resolveSchema(inner, root);
    return [key, buildField({ schema: fieldSchema, root, name: key, required: required.has(key), initial: initial?.[key] ?? fieldSchema.default,
      depth: depth + 1, empty })];
  });
  const children = [schema.description && h("span", { class: "field-about" }, schema.description), fields.map(([, field]) => field.node)];
  const node = name ? h("fieldset", { class: "field stack" }, h("legend", {}, schema.title ?? name), children) : h("div", { class: "stack" }, children);
  // Members without a field are kept as they are: an edited tool call loses none of its arguments.
  const value = () => {
    const result = { ...(initial !== null && typeof initial === "object" ? initial : {}) };
    for (const [key, field] of fields) {
      const fieldValue = field.value();
      if (fieldValue === undefined) delete result[key];
      else result[key] = fieldValue;
    }
    return result;
  };
  const clear = () => fields.map(([, field]) => field.clear()).every(Boolean);
  return omitIfUntouched(spec, { node, value, clear, check: () => fields.map(([, field]) => field.check()).every(Boolean) });
}

function json(spec) {
  const input = h("textarea", { rows: 5, class: "mono", spellcheck: false, value: spec.initial === undefined ? "" : JSON.stringify(spec.initial, null, 2) });
  const read = () => (input.value.trim() === "" ? undefined : JSON.parse(input.value));
  const field = labelledField(spec, input, read);
  const check = () => {
    try {
      const value = read();
      return showError(input, field.node.lastChild, value === undefined && spec.required ? "This field is required. Enter JSON." : "");
    } catch (problem) {
      return showError(input, field.node.lastChild, `This is not JSON: ${problem.message}`);
    }
  };
  return { ...field, check };
}

const FIELDS = { text, lines, number, integer: number, boolean, choice, choices: manyChoices, items, group, json };
