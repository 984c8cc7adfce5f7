/**
 * Registers a run's MCP servers with pi, which reads them from its own files only: `pi -e pi-mcp.ts` with the path of a
 * file `{"mcpServers": {name: {…}}}` in PI_AGUI_MCP. They hold for this process; nothing is written to disk. The model
 * sees their tools by name, like pi's own. A server that pi rejects is reported as a notification. Needs pi 1.0 or newer.
 *
 * In values of `env` and `headers` pi would replace `$NAME` from its own environment and run `!command`. Here the values
 * come from the client of the run, so they are escaped and taken literally.
 */

import { readFileSync } from "node:fs";

const FILE_VARIABLE = "PI_AGUI_MCP";

export default function (pi: any) {
  const path = process.env[FILE_VARIABLE];
  if (path === undefined) return;
  delete process.env[FILE_VARIABLE]; // commands that the agent runs must not see it
  const config = JSON.parse(readFileSync(path, "utf8"));
  const problems = Object.entries<any>(config.mcpServers).flatMap(([name, server]) => register(pi, name, server));
  pi.on("session_start", (_event: any, ctx: any) => {
    if (ctx.hasUI) for (const problem of problems) ctx.ui.notify(problem, "warning");
  });
}

/** The reasons why it could not be registered; empty when it was. */
function register(pi: any, name: string, { type, command, args, url, env, headers }: any): string[] {
  try {
    if (type === "sse") throw new Error("pi does not support SSE");
    const values = { env: literal(env), headers: literal(headers) };
    pi.registerMcpServer(name, withoutUndefined({ command, args, url, ...values, exposure: "direct" }));
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

function withoutUndefined(fields: Record<string, unknown>) {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
