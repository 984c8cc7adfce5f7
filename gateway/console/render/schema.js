// What a field of a JSON Schema is, and whether a value fits it. Pure: form.js makes the elements.

const FORMATS = { email: /^[^\s@]+@[^\s@]+\.[^\s@]+$/, uri: /^[a-z][a-z0-9+.-]*:\S+$/i, date: /^\d{4}-\d{2}-\d{2}$/, "date-time": /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/i };
const NAMES = { email: "an e-mail address", uri: "an address with its scheme, like https://…", date: "a date", "date-time": "a date and a time" };
const DEEPEST = 6;

/** The schema with its `$ref`s of the same document followed, and a nullable or single alternative taken for itself. */
export function resolved(schema, root, hops = 0) {
  if (schema === null || typeof schema !== "object" || Array.isArray(schema)) return {};
  if (typeof schema.$ref === "string" && schema.$ref.startsWith("#") && hops < 8) {
    const target = schema.$ref.slice(1).split("/").filter(Boolean).reduce((at, key) => at?.[key.replaceAll("~1", "/").replaceAll("~0", "~")], root);
    return resolved({ ...target, ...schema, $ref: undefined }, root, hops + 1);
  }
  const one = (schema.anyOf ?? schema.oneOf)?.filter((other) => other?.type !== "null");
  if (one?.length === 1 && hops < 8) return resolved({ ...schema, anyOf: undefined, oneOf: undefined, ...one[0] }, root, hops + 1);
  return schema;
}

/** [{value, title}] where only certain values are allowed. */
export function choices(schema) {
  if (schema.const !== undefined) return [{ value: schema.const, title: schema.title ?? String(schema.const) }];
  if (Array.isArray(schema.enum)) return schema.enum.map((value, at) => ({ value, title: String(schema.enumNames?.[at] ?? value) }));
  const listed = schema.oneOf ?? schema.anyOf;
  if (Array.isArray(listed) && listed.length && listed.every((one) => one?.const !== undefined)) return listed.map((one) => ({ value: one.const, title: one.title ?? String(one.const), description: one.description }));
  return null;
}

/** Which control: choice, text, lines, number, integer, boolean, choices (many of them), items, group, or json. */
export function control(schema, deep = 0) {
  const type = Array.isArray(schema.type) ? schema.type.filter((one) => one !== "null")[0] : schema.type;
  if (choices(schema)) return choices(schema).every(({ value }) => typeof value !== "object" || value === null) ? "choice" : "json";
  if (deep > DEEPEST) return "json";
  if (type === "string") return schema.format === "textarea" || schema.format === "multiline" || schema.multiline || schema.contentMediaType || schema.maxLength > 240 ? "lines" : "text";
  if (type === "boolean" || type === "number" || type === "integer") return type;
  if (type === "array" && schema.items && !Array.isArray(schema.items)) return choices(schema.items) ? "choices" : "items";
  if ((type === "object" || schema.properties) && Object.keys(schema.properties ?? {}).length) return "group";
  return "json";
}

/** What is wrong with a value, in words, or "". Of objects and arrays only their own sizes: their parts speak for themselves. */
export function wrong(schema, value, required) {
  if (value === undefined || value === "") return required ? "This is needed." : "";
  const allowed = choices(schema);
  if (allowed && !allowed.some((one) => Object.is(one.value, value))) return "Choose one of the list.";
  if (typeof value === "string") return wrongText(schema, value);
  if (typeof value === "number") return wrongNumber(schema, value);
  if (Array.isArray(value)) return between(value.length, schema.minItems, schema.maxItems, "entry", "entries");
  return "";
}

function wrongText(schema, value) {
  const length = between([...value].length, schema.minLength, schema.maxLength, "character", "characters");
  if (length) return length;
  if (FORMATS[schema.format] && !FORMATS[schema.format].test(value)) return `This is not ${NAMES[schema.format]}.`;
  return schema.pattern && !matches(schema.pattern, value) ? `This must match ${schema.pattern}` : "";
}

/** Patterns come from agents, and one that tries every way could hang the page: where a group is repeated, or much is,
 *  and for long texts, the agent is left to judge. */
function matches(pattern, value) {
  if (value.length > 200 || /\)[*+{]/.test(pattern) || pattern.match(/[*+{]/g)?.length > 3) return true;
  try {
    return new RegExp(pattern, "u").test(value);
  } catch {
    return true;
  }
}

function wrongNumber(schema, value) {
  if (!Number.isFinite(value)) return "This is not a number.";
  if (schema.type === "integer" && !Number.isInteger(value)) return "This must be a whole number.";
  if (value < schema.minimum) return `At least ${schema.minimum}.`;
  if (value > schema.maximum) return `At most ${schema.maximum}.`;
  if (value <= schema.exclusiveMinimum) return `More than ${schema.exclusiveMinimum}.`;
  if (value >= schema.exclusiveMaximum) return `Less than ${schema.exclusiveMaximum}.`;
  const steps = value / schema.multipleOf;
  return schema.multipleOf && Math.abs(steps - Math.round(steps)) > 1e-9 ? `In steps of ${schema.multipleOf}.` : "";
}

function between(count, least, most, one, many) {
  const of = (bound) => `${bound} ${bound === 1 ? one : many}`;
  if (count < least) return `At least ${of(least)}.`;
  return count > most ? `At most ${of(most)}.` : "";
}

const two = (number) => String(number).padStart(2, "0");

/** RFC 3339 → what a field for a local time holds; "" where it is no time. */
export function localTime(moment) {
  const at = new Date(typeof moment === "string" ? moment : NaN);
  if (Number.isNaN(at.getTime())) return "";
  return `${String(at.getFullYear()).padStart(4, "0")}-${two(at.getMonth() + 1)}-${two(at.getDate())}T${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

/** And back, with seconds and the offset that holds here on that day. What is no time stays as it is. */
export function rfc3339(local) {
  const at = new Date(local);
  if (Number.isNaN(at.getTime())) return local;
  const ahead = -at.getTimezoneOffset(), apart = Math.abs(ahead);
  return `${localTime(local)}${ahead ? `${ahead < 0 ? "-" : "+"}${two(Math.floor(apart / 60))}:${two(apart % 60)}` : "Z"}`;
}
