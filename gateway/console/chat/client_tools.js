// The tools that the console itself offers to agents. There is one, as an example: it asks the user to pick an option.
//
// The parameters have defaults that an agent may send as they are; the `demo` agent does so.

const object = (value) => (typeof value === "object" && value !== null ? value : {});

export const CONSOLE_TOOLS = [{
  tool: {
    name: "pick_option",
    description: "Asks the user of the console a question with a few options as buttons, and returns the option that the user picks.",
    parameters: {
      type: "object",
      properties: {
        question: { type: "string", description: "The question, in one sentence.", default: "What would you like?" },
        options: { type: "array", items: { type: "string" }, minItems: 1, description: "Two to six short options.",
          default: ["Tea", "Coffee", "Nothing, thank you"] },
      },
      required: ["question", "options"],
    },
  },
}];

const TOOL_NAMES = new Set(CONSOLE_TOOLS.map(({ tool }) => tool.name));
export const isConsoleTool = (name) => TOOL_NAMES.has(name) || [...TOOL_NAMES].some((tool) => name?.endsWith(`__${tool}`));

/** {label, about} of an option: a string, or an object with a label and a description. Anything else becomes JSON. */
function readOption(option) {
  const label = typeof option === "string" ? option : [object(option).label, object(option).title, object(option).name].find((name) => typeof name === "string");
  const { description } = object(option);
  return { label: label ?? JSON.stringify(option), about: typeof description === "string" ? description : undefined };
}

/** The arguments of a call as {text, options}. */
export function readQuestion(args) {
  let params;
  try { params = object(JSON.parse(args)); } catch { params = {}; }
  const options = Array.isArray(params.options) ? params.options.slice(0, 20) : [];
  return { text: String(params.question ?? "Pick one"), options: options.map(readOption) };
}

/** The ids of unanswered calls of console tools after the last user message. */
export function pendingConsoleCalls(messages) {
  const last = messages.findLastIndex((message) => message.role === "user"), after = messages.slice(last + 1);
  const answered = new Set(after.filter((message) => message.role === "tool").map((message) => message.toolCallId));
  const calls = after.flatMap((message) => message.toolCalls ?? []);
  return calls.filter((call) => isConsoleTool(call.function?.name) && !answered.has(call.id)).map((call) => call.id);
}
