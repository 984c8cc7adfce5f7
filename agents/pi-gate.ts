/**
 * The gateway's gate for pi, which runs every tool unasked: with `pi -e pi-gate.ts` each call that is more than reading
 * waits for a yes. In: calls as pi is about to run them. Out: an `input` dialog over rpc, whose title says that it is the
 * gate's and whose placeholder names the call; its answer is `{"approved", "editedArgs"?, "reason"?}`.
 *
 * Whatever is not clearly a yes is a no: no dialog to be had (json mode), one that was dismissed or cannot be read. What
 * the user has changed takes the place of the arguments. Nothing is imported, so that every version of pi loads it.
 */

const TITLE = "agui-gateway:tool_call";

/** Built-in tools that only look. Anything else is asked about, tools of extensions and of MCP servers too. */
const READS = new Set(["read", "grep", "find", "ls"]);

type Answer = { approved?: unknown; editedArgs?: unknown; reason?: unknown };

export default function (pi: any) {
  // So that the gateway knows that the gate stands, and does not take silence for consent.
  pi.on("session_start", (_event: any, ctx: any) => {
    if (ctx.hasUI) ctx.ui.setStatus("agui-gateway", "gate");
  });

  pi.on("tool_call", async (event: any, ctx: any) => {
    if (READS.has(event.toolName)) return undefined;
    if (!ctx.hasUI) return refused("There is nobody to ask whether this tool may run.");
    const about = JSON.stringify({ toolCallId: event.toolCallId, toolName: event.toolName });
    const answer = read(await ctx.ui.input(TITLE, about, { signal: ctx.signal }));
    if (answer.approved !== true) return refused(answer.reason);
    if (isObject(answer.editedArgs)) replace(event.input, answer.editedArgs);
    return undefined;
  });
}

function read(told: string | undefined): Answer {
  try {
    const answer = JSON.parse(told ?? "null");
    return isObject(answer) ? answer : {};
  } catch {
    return {};
  }
}

function refused(reason: unknown) {
  return { block: true, reason: typeof reason === "string" ? reason : "The user refused this tool call." };
}

/** In place: pi runs the object that it gave us. */
function replace(input: Record<string, unknown>, edited: Record<string, unknown>) {
  for (const key of Object.keys(input)) delete input[key];
  Object.assign(input, edited);
}

function isObject(value: unknown): value is Record<string, any> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
