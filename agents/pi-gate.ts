/**
 * Tool approvals for pi, which runs every tool without asking: with `pi -e pi-gate.ts` each call that does more than
 * read waits for an approval. In: calls that pi is about to run. Out: an `input` dialog over rpc, whose title marks it as
 * the gate's and whose placeholder names the call; its answer is `{"approved", "editedArgs"?, "reason"?}`.
 *
 * Everything but a clear approval denies the call: json mode, which has no dialogs; a dismissed dialog; an unreadable
 * answer. Arguments that the user has edited replace the call's. Nothing is imported, so every version of pi loads it.
 */

const TITLE = "agui-gateway:tool_call";

/** Built-in tools that only read. All others need an approval, those of extensions and of MCP servers too. */
const READ_ONLY_TOOLS = new Set(["read", "grep", "find", "ls"]);

type Answer = { approved?: unknown; editedArgs?: unknown; reason?: unknown };

export default function (pi: any) {
  // The gateway waits for this status: without it, it must not assume that calls are held back.
  pi.on("session_start", (_event: any, ctx: any) => {
    if (ctx.hasUI) ctx.ui.setStatus("agui-gateway", "gate");
  });

  pi.on("tool_call", async (event: any, ctx: any) => {
    if (READ_ONLY_TOOLS.has(event.toolName)) return undefined;
    if (!ctx.hasUI) return deny("This tool needs an approval, and no user can be asked.");
    const names = Object.keys(isObject(event.input) ? event.input : {});
    const call = JSON.stringify({ toolCallId: event.toolCallId, toolName: event.toolName, argumentNames: names });
    const answer = readAnswer(await ctx.ui.input(TITLE, call, { signal: ctx.signal }));
    if (answer.approved !== true) return deny(answer.reason);
    if (isObject(answer.editedArgs)) {
      if (!Object.keys(answer.editedArgs).every((key) => names.includes(key))) return deny("An edit may not add arguments.");
      replace(event.input, answer.editedArgs);
    }
    return undefined;
  });
}

function readAnswer(text: string | undefined): Answer {
  try {
    const answer = JSON.parse(text ?? "null");
    return isObject(answer) ? answer : {};
  } catch {
    return {};
  }
}

function deny(reason: unknown) {
  return { block: true, reason: typeof reason === "string" ? reason : "The user refused this tool call." };
}

/** In place: pi runs the object that it passed to us. */
function replace(input: Record<string, unknown>, edited: Record<string, unknown>) {
  for (const key of Object.keys(input)) delete input[key];
  Object.assign(input, edited);
}

function isObject(value: unknown): value is Record<string, any> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
