// JSON Schema for forms: which control fits a schema, and whether a value is valid. Pure: form.js builds the elements.

const FORMATS = { email: /^[^\s@]+@[^\s@]+\.[^\s@]+$/, uri: /^[a-z][a-z0-9+.-]*:\S+$/i, date: /^\d{4}-\d{2}-\d{2}$/,
  "date-time": /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/i };
const FORMAT_NAMES = { email: "an e-mail address", uri: "an address with a scheme, such as https://…", date: "a date", "date-time": "a date with a time" };
const MAX_DEPTH = 6;

/** The schema with local `$ref`s resolved, and with a single or nullable alternative merged in. */
export function resolveSchema(schema, root, hops = 0) {
  if (schema === null || typeof schema !== "object" || Array.isArray(schema)) return {};
  if (typeof schema.$ref === "string" && schema.$ref.startsWith("#") && hops < 8) {
    const target = schema.$ref.slice(1).split("/").filter(Boolean).reduce((at, key) => at?.[key.replaceAll("~1", "/").replaceAll("~0", "~")], root);
    return resolveSchema({ ...target, ...schema, $ref: undefined }, root, hops + 1);
  }
  const alternatives = (schema.anyOf ?? schema.oneOf)?.filter((other) => other?.type !== "null");
  if (alternatives?.length === 1 && hops < 8) return resolveSchema({ ...schema, anyOf: undefined, oneOf: undefined, ...alternatives[0] }, root, hops + 1);
  return schema;
}

/** [{value, title}] where the schema allows only certain values, else null. */
export function choices(schema) {
  if (schema.const !== undefined) return [{ value: schema.const, title: schema.title ?? String(schema.const) }];
  if (Array.isArray(schema.enum)) return schema.enum.map((value, at) => ({ value, title: String(schema.enumNames?.[at] ?? value) }));
  const listed = schema.oneOf ?? schema.anyOf;
  if (!Array.isArray(listed) || !listed.length || !listed.every((option) => option?.const !== undefined)) return null;
  return listed.map((option) => ({ value: option.const, title: option.title ?? String(option.const), description: option.description }));
}

/** The control for a schema: choice, text, lines, number, integer, boolean, choices (several), items, group, or json. */
export function controlFor(schema, depth = 0) {
  const type = Array.isArray(schema.type) ? schema.type.filter((name) => name !== "null")[0] : schema.type;
  if (choices(schema)) return choices(schema).every(({ value }) => typeof value !== "object" || value === null) ? "choice" : "json";
  if (depth > MAX_DEPTH) return "json";
  if (type === "string") return isMultiline(schema) ? "lines" : "text";
  if (type === "boolean" || type === "number" || type === "integer") return type;
  if (type === "array" && schema.items && !Array.isArray(schema.items)) return choices(schema.items) ? "choices" : "items";
  if ((type === "object" || schema.properties) && Object.keys(schema.properties ?? {}).length) return "group";
  return "json";
}

const isMultiline = ({ format, multiline, contentMediaType, maxLength }) =>
  format === "textarea" || format === "multiline" || multiline || contentMediaType || maxLength > 240;

/** The error message for a value, or "". For objects and arrays it checks only the size: their fields check themselves. */
export function validationError(schema, value, required) {
  if (value === undefined || value === "") return required ? "This field is required." : "";
  const allowed = choices(schema);
  if (allowed && !allowed.some((choice) => Object.is(choice.value, value))) return "Choose a value from the list.";
  if (typeof value === "string") return textError(schema, value);
  if (typeof value === "number") return numberError(schema, value);
  if (Array.isArray(value)) return countError(value.length, schema.minItems, schema.maxItems, "entry", "entries");
  return "";
}

function textError(schema, value) {
  const length = countError([...value].length, schema.minLength, schema.maxLength, "character", "characters");
  if (length) return length;
  if (FORMATS[schema.format] && !FORMATS[schema.format].test(value)) return `This is not ${FORMAT_NAMES[schema.format]}.`;
  return schema.pattern && !matches(schema.pattern, value) ? `The text must match ${schema.pattern}.` : "";
}

/** Patterns come from agents, and one with much backtracking could block the page. Patterns with repeated groups or many
 *  repetitions, and long texts, are therefore left to the agent to check. */
function matches(pattern, value) {
  if (value.length > 200 || /\)[*+{]/.test(pattern) || pattern.match(/[*+{]/g)?.length > 3) return true;
  try {
    return new RegExp(pattern, "u").test(value);
  } catch {
    return true;
  }
}

function numberError(schema, value) {
  if (!Number.isFinite(value)) return "This is not a number.";
  if (schema.type === "integer" && !Number.isInteger(value)) return "The value must be a whole number.";
  if (value < schema.minimum) return `The value must be at least ${schema.minimum}.`;
  if (value > schema.maximum) return `The value must be at most ${schema.maximum}.`;
  if (value <= schema.exclusiveMinimum) return `The value must be more than ${schema.exclusiveMinimum}.`;
  if (value >= schema.exclusiveMaximum) return `The value must be less than ${schema.exclusiveMaximum}.`;
  const steps = value / schema.multipleOf;
  return schema.multipleOf && Math.abs(steps - Math.round(steps)) > 1e-9 ? `The value must be a multiple of ${schema.multipleOf}.` : "";
}

function countError(count, min, max, singular, plural) {
  const describe = (bound) => `${bound} ${bound === 1 ? singular : plural}`;
  if (count < min) return `Enter at least ${describe(min)}.`;
  return count > max ? `Enter at most ${describe(max)}.` : "";
}

const twoDigits = (number) => String(number).padStart(2, "0");

/** An RFC 3339 time as the value of a local time field; "" if it is no time. */
export function toLocalTime(timestamp) {
  const at = new Date(typeof timestamp === "string" ? timestamp : NaN);
  if (Number.isNaN(at.getTime())) return "";
  return `${String(at.getFullYear()).padStart(4, "0")}-${twoDigits(at.getMonth() + 1)}-${twoDigits(at.getDate())}T${twoDigits(at.getHours())}:${twoDigits(at.getMinutes())}:${twoDigits(at.getSeconds())}`;
}

/** The value of a local time field as RFC 3339, with the offset of that day. Text that is no time is returned unchanged. */
export function fromLocalTime(local) {
  const at = new Date(local);
  if (Number.isNaN(at.getTime())) return local;
  const offset = -at.getTimezoneOffset(), minutes = Math.abs(offset);
  return `${toLocalTime(local)}${offset ? `${offset < 0 ? "-" : "+"}${twoDigits(Math.floor(minutes / 60))}:${twoDigits(minutes % 60)}` : "Z"}`;
}
