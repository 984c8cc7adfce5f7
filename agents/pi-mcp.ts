/**
 * MCP servers that a run wishes for, told to pi, which takes them from its own files only: `pi -e pi-mcp.ts` with the
 * path of a file `{"mcpServers": {name: {…}}}` in PI_AGUI_MCP. For this process alone: nothing is written anywhere.
 * Their tools are offered to the model by name, as tools of its own; a server that pi will not take is told as a notice.
 * Needs pi 1.0 or newer.
 *
 * In values of `env` and `headers` pi would put in its own environment for `$NAME`, and run `!command`. Here they come
 * from whoever asks for the run, so they are taken literally.
 */

import { readFileSync } from "node:fs";

const NAME = "PI_AGUI_MCP";

export default function (pi: any) {
  const path = process.env[NAME];
  if (path === undefined) return;
  delete process.env[NAME]; // commands that the agent runs need not know of it
  const told = JSON.parse(readFileSync(path, "utf8"));
  const refused = Object.entries<any>(told.mcpServers).flatMap(([name, server]) => register(pi, name, server));
  pi.on("session_start", (_event: any, ctx: any) => {
    if (ctx.hasUI) for (const words of refused) ctx.ui.notify(words, "warning");
  });
}

/** Why it could not be, if so. */
function register(pi: any, name: string, { type, command, args, url, env, headers }: any): string[] {
  try {
    if (type === "sse") throw new Error("pi does not speak SSE");
    const values = { env: literal(env), headers: literal(headers) };
    pi.registerMcpServer(name, present({ command, args, url, ...values, exposure: "direct" }));
    return [];
  } catch (error: any) {
    return [`The MCP server ${name} was left out: ${error.message}`];
  }
}

function literal(values: Record<string, string> | undefined) {
  if (values === undefined) return undefined;
  const escaped = (value: string) => value.replaceAll("$", "$$$$").replace(/^!/, "$!");
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, escaped(value)]));
}

function present(fields: Record<string, unknown>) {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
