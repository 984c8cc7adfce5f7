// Reads `custom.gateway.options` of a snapshot: what a run may ask the agent for. Pure: no DOM, no network.
//
// An option is an object with what is allowed, true where any value is, false where it is refused, and absent where it is not
// known yet. What is not known is not offered.

const object = (value) => (typeof value === "object" && value !== null && !Array.isArray(value) ? value : {});
const list = (value) => (Array.isArray(value) ? value : []);

/** Option → statement. `listed`: the options of `GET /agents/{id}`, for a gateway that states nothing more of them. */
export function readOptions(capabilities, listed = []) {
  const { options } = object(object(capabilities?.custom).gateway);
  return options === undefined ? Object.fromEntries(listed.map((name) => [name, true])) : object(options);
}

export const isOffered = (statement) => statement === true || (typeof statement === "object" && statement !== null);

/** [{id, name, description}] of an option with certain values; empty if there are none. */
export function readValues(statement) {
  return list(object(statement).values).map((value) => {
    if (typeof value !== "object" || value === null) return { id: value, name: String(value) };
    const { id, name, native, description } = value;
    return { id, name: name ?? String(id), description: description ?? (native === undefined ? undefined : `Sent to the agent as ${describeNative(native)}`) };
  });
}

const describeNative = (native) => (typeof native === "string" ? `“${native}”` : JSON.stringify(native));

/** The options that have no picker of their own, with the words of the form: [name, title, description]. */
const FORM_OPTIONS = [
  ["approvals", "Approvals", "What happens when the agent wants to use a tool: prompt asks you, auto approves, deny refuses."],
  ["thinkingBudgetTokens", "Thinking budget", "The most tokens that the model may think with."],
  ["maxTurns", "Maximum turns", "The run ends after so many calls of the model."],
  ["outputFormat", "Output format", undefined],
  ["additionalDirectories", "Additional folders", "Folders beside the working folder that the agent may use."],
  ["skills", "Skills", "Names or folders of skills."],
  ["outputSchema", "Output schema", "A JSON Schema that the answer must fit."],
  ["mcpServers", "MCP servers", undefined],
];

/** A JSON Schema with a field for each of these options that the agent takes; null if it takes none. */
export function formSchema(options) {
  const properties = {};
  for (const [name, title, description] of FORM_OPTIONS) {
    const statement = options[name];
    if (isOffered(statement)) properties[name] = { title, ...(description && { description }), ...fieldSchema(name, statement) };
  }
  return Object.keys(properties).length ? { type: "object", properties } : null;
}

function fieldSchema(name, statement) {
  const { values, min, max } = object(statement);
  switch (name) {
    case "thinkingBudgetTokens":
      return { type: "integer", minimum: min ?? 0, ...(max !== undefined && { maximum: max, description: `From ${min} to ${max} tokens.` }) };
    case "maxTurns":
      return { type: "integer", minimum: 1 };
    case "additionalDirectories": case "skills":
      return { type: "array", items: { type: "string", minLength: 1 } };
    case "mcpServers":
      return { type: "array", description: `A JSON list, as ACP writes it. ${describeTransports(statement)}` };
    case "outputSchema":
      return { type: "object" };
    default:
      return { type: "string", enum: list(values).map(String) };
  }
}

function describeTransports(statement) {
  const { transports, unknown } = object(statement), taken = list(transports);
  return [taken.length ? `The agent takes servers over ${taken.join(", ")}.` : "", list(unknown).length ? `Not known: ${list(unknown).join(", ")}.` : ""].join(" ").trim();
}

/** What is allowed, in words, for a table. */
export function describeOption(name, statement) {
  if (statement === undefined) return "not known yet";
  if (statement === false) return "no";
  if (statement === true) return "yes";
  const { values, open, min, max, names } = object(statement);
  if (name === "model" && Array.isArray(values)) return `${values.length} ${values.length === 1 ? "model" : "models"}${open ? ", and others by their id" : ""}`;
  if (Array.isArray(values)) return values.map(describeValue).join(", ");
  if (min !== undefined || max !== undefined) return `${min ?? 0} to ${max ?? "any number of"} tokens`;
  if (name === "mcpServers") return describeTransports(statement);
  return Array.isArray(names) ? names.join(", ") : "yes";
}

function describeValue(value) {
  if (typeof value !== "object" || value === null) return String(value);
  const { id, name, native } = value;
  return native !== undefined && native !== id ? `${id} (${typeof native === "string" ? native : JSON.stringify(native)})` : (name ?? String(id));
}
