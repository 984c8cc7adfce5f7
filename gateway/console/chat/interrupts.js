// Reads an interrupt: the question, the possible answers, and what each answer sends. Pure: no DOM, no network.

const object = (value) => (typeof value === "object" && value !== null && !Array.isArray(value) ? value : {});

/** {message, choices: [{label, payload, kind}], edits, extra, form}: `choices` are answers by one click; `edits` is the schema
 *  of changed arguments, if the agent accepts them; `extra` the schema of optional feedback; `form` the schema of an answer
 *  with fields. */
export function readInterrupt(interrupt) {
  const message = interrupt.message || "The agent requests your input.";
  const schema = interrupt.responseSchema;
  if (schema === undefined || schema === null) return { message, choices: [{ label: "Yes", kind: "allow" }, { label: "No", kind: "reject", cancels: true }] };
  const fields = object(schema.properties);
  if (!("approved" in fields) && !("optionId" in fields)) return { message, choices: [], form: schema };
  const { approved, optionId, editedArgs, ...rest } = fields;
  const choices = optionId ? readOptions(object(optionId), interrupt) : [
    { label: approved.title && approved.title !== "Approve" ? approved.title : "Approve", kind: "allow", payload: { approved: true } },
    { label: "Deny", kind: "reject", payload: { approved: false } },
  ];
  const forbidden = object(schema.not).required;
  const edits = editedArgs && "approved" in fields && !(Array.isArray(forbidden) && forbidden.includes("editedArgs")) ? editedArgs : undefined;
  return { message, choices, edits, extra: Object.keys(rest).length ? { type: "object", properties: rest } : undefined };
}

/** The options of the agent, with its own labels. */
function readOptions(field, interrupt) {
  const options = Object.values(object(interrupt.metadata)).flatMap((entry) => (Array.isArray(entry?.options) ? entry.options : []));
  const kinds = new Map(options.map((option) => [option?.optionId, String(option?.kind ?? "")]));
  const choices = Array.isArray(field.oneOf) ? field.oneOf.map(({ const: id, title, description }) => ({ id, label: title ?? id, about: description }))
    : (Array.isArray(field.enum) ? field.enum : []).map((id) => ({ id, label: id }));
  return choices.map(({ id, label, about }) => ({ label: String(label), about, kind: optionKind(kinds.get(id) || String(id)),
    always: /always|session/i.test(kinds.get(id) || String(id)), payload: { optionId: id } }));
}

/** "approved" or "denied" for an answer to an approval; undefined for any other request. Only a clear yes is an approval. */
export function decisionOf(interrupt, { status, payload }) {
  const { choices, form } = readInterrupt(interrupt);
  if (form || !choices.length || typeof interrupt.toolCallId !== "string") return undefined;
  if (status !== "resolved") return "denied";
  if (payload === undefined) return "approved"; // a request without a schema, answered with yes
  const chosen = choices.find((choice) => choice.payload?.optionId !== undefined && choice.payload.optionId === payload.optionId);
  return payload.approved === true || chosen?.kind === "allow" ? "approved" : "denied";
}

const optionKind = (text) => (/reject|deny|decline|cancel|refus|abort|\bno\b/i.test(text) ? "reject" : "allow");

/** The schema for editing the arguments. Where the agent's schema has no fields, they are derived from the arguments. */
export function editSchema(schema, args) {
  if (Object.keys(object(object(schema).properties)).length) return schema;
  const properties = Object.fromEntries(Object.entries(object(args)).map(([name, value]) => [name, schemaFor(value)]));
  return { type: "object", ...object(schema), properties };
}

function schemaFor(value) {
  if (typeof value === "string") return value.includes("\n") || value.length > 80 ? { type: "string", format: "multiline" } : { type: "string" };
  if (typeof value === "boolean") return { type: "boolean" };
  if (typeof value === "number") return { type: Number.isInteger(value) ? "integer" : "number" };
  return {};
}

/** {expired, soon, text} for an interrupt with an expiry time, else null. */
export function timeLeft(expiresAt, now) {
  const left = Date.parse(expiresAt) - now;
  if (Number.isNaN(left)) return null;
  if (left <= 0) return { expired: true, text: "expired" };
  const seconds = Math.ceil(left / 1000), parts = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
  const index = parts.findIndex(([size]) => seconds >= size), [size, unit] = parts[index];
  const rest = index < 3 ? Math.floor((seconds % size) / parts[index + 1][0]) : 0;
  return { expired: false, soon: seconds <= 60, text: `${Math.floor(seconds / size)} ${unit}${rest ? ` ${rest} ${parts[index + 1][1]}` : ""} left` };
}
