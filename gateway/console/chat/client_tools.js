// The tools that this page brings along. One, to show how it works: the agent asks the reader to pick something.
//
// The defaults are examples that an agent may call it with as they stand; `demo` does.

const object = (value) => (typeof value === "object" && value !== null ? value : {});

export const OWN_TOOLS = [{
  tool: {
    name: "pick_option",
    description: "Shows the person at the console a question with a few options as buttons, and gives back the one they pick.",
    parameters: {
      type: "object",
      properties: {
        question: { type: "string", description: "What to ask, in one sentence.", default: "What shall it be?" },
        options: { type: "array", items: { type: "string" }, minItems: 1, description: "Two to six short options.", default: ["Tea", "Coffee", "Nothing, thank you"] },
      },
      required: ["question", "options"],
    },
  },
}];

const NAMES = new Set(OWN_TOOLS.map(({ tool }) => tool.name));
export const isOwn = (name) => NAMES.has(name) || [...NAMES].some((own) => name?.endsWith(`__${own}`));

/** A call's arguments as a question; options that are no texts are shown as JSON. */
export function question(args) {
  let given;
  try { given = object(JSON.parse(args)); } catch { given = {}; }
  const options = Array.isArray(given.options) ? given.options.slice(0, 20) : [];
  return { words: String(given.question ?? "Pick one"), options: options.map((option) => (typeof option === "string" ? option : JSON.stringify(option))) };
}

/** Calls of ours in a conversation that nobody has answered, behind its last user message. */
export function ownPending(messages) {
  const last = messages.findLastIndex((message) => message.role === "user"), behind = messages.slice(last + 1);
  const answered = new Set(behind.filter((message) => message.role === "tool").map((message) => message.toolCallId));
  const calls = behind.flatMap((message) => message.toolCalls ?? []);
  return calls.filter((call) => isOwn(call.function?.name) && !answered.has(call.id)).map((call) => call.id);
}
