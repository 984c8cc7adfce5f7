// An interrupt, read for people: what is asked, which answers there are, what each of them sends. Pure.

const object = (value) => (typeof value === "object" && value !== null && !Array.isArray(value) ? value : {});

/** {message, choices: [{label, payload, kind}], edits, extra, form}: `choices` are one-click answers, `edits` the schema of
 *  changed arguments where they are taken, `extra` that of words that may go along, `form` that of an answer with fields. */
export function readQuestion(interrupt) {
  const message = interrupt.message || "The agent asks.";
  const schema = interrupt.responseSchema;
  if (schema === undefined || schema === null) return { message, choices: [{ label: "Yes", kind: "allow" }, { label: "No", kind: "reject", cancels: true }] };
  const fields = object(schema.properties);
  if (!("approved" in fields) && !("optionId" in fields)) return { message, choices: [], form: schema };
  const { approved, optionId, editedArgs, ...rest } = fields;
  const choices = optionId ? options(object(optionId), interrupt) : [
    { label: approved.title && approved.title !== "Approve" ? approved.title : "Approve", kind: "allow", payload: { approved: true } },
    { label: "Refuse", kind: "reject", payload: { approved: false } },
  ];
  const refused = object(schema.not).required;
  const edits = editedArgs && "approved" in fields && !(Array.isArray(refused) && refused.includes("editedArgs")) ? editedArgs : undefined;
  return { message, choices, edits, extra: Object.keys(rest).length ? { type: "object", properties: rest } : undefined };
}

/** As the agent gave them, with its own names. */
function options(field, interrupt) {
  const told = Object.values(object(interrupt.metadata)).flatMap((one) => (Array.isArray(one?.options) ? one.options : []));
  const kinds = new Map(told.map((one) => [one?.optionId, String(one?.kind ?? "")]));
  const named = Array.isArray(field.oneOf) ? field.oneOf.map(({ const: id, title, description }) => ({ id, label: title ?? id, about: description }))
    : (Array.isArray(field.enum) ? field.enum : []).map((id) => ({ id, label: id }));
  return named.map(({ id, label, about }) => ({ label: String(label), about, kind: kindOf(kinds.get(id) || String(id)), always: /always|session/i.test(kinds.get(id) || String(id)), payload: { optionId: id } }));
}

const kindOf = (words) => (/reject|deny|decline|cancel|refus|abort|\bno\b/i.test(words) ? "reject" : "allow");

/** The schema of changed arguments; where it has no fields, those of the arguments themselves. */
export function editSchema(schema, args) {
  if (Object.keys(object(object(schema).properties)).length) return schema;
  const properties = Object.fromEntries(Object.entries(object(args)).map(([name, value]) => [name, like(value)]));
  return { type: "object", ...object(schema), properties };
}

function like(value) {
  if (typeof value === "string") return value.includes("\n") || value.length > 80 ? { type: "string", format: "multiline" } : { type: "string" };
  if (typeof value === "boolean") return { type: "boolean" };
  if (typeof value === "number") return { type: Number.isInteger(value) ? "integer" : "number" };
  return {};
}

export function timeLeft(expiresAt, now) {
  const left = Date.parse(expiresAt) - now;
  if (Number.isNaN(left)) return null;
  if (left <= 0) return { expired: true, words: "expired" };
  const seconds = Math.ceil(left / 1000), parts = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
  const at = parts.findIndex(([size]) => seconds >= size), [size, unit] = parts[at];
  const rest = at < 3 ? Math.floor((seconds % size) / parts[at + 1][0]) : 0;
  return { expired: false, soon: seconds <= 60, words: `${Math.floor(seconds / size)} ${unit}${rest ? ` ${rest} ${parts[at + 1][1]}` : ""} left` };
}
