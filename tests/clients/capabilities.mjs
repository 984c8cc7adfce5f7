/*
 * `getCapabilities()` for an `HttpAgent`, as an application would add it, held against the official schemas:
 * 1.0's, and with `?protocol=0` that of 0.0.59, which strips whatever it does not describe.
 */

import { HttpAgent } from "@ag-ui/client";
import { AgentCapabilitiesSchema } from "@ag-ui/core/schemas";
import { AgentCapabilitiesSchema as AgentCapabilitiesSchema0 } from "ag-ui-core-0";
import { heard, main } from "./harness.mjs";

class GatewayAgent extends HttpAgent {
  async getCapabilities() {
    const url = new URL(this.url);
    url.pathname = `${url.pathname.replace(/\/+$/, "")}/capabilities`;
    const headers = { ...this.headers, Accept: "application/json" };
    const response = await this.fetch(url.toString(), { method: "GET", headers });
    if (!response.ok) throw new Error(`capabilities: HTTP ${response.status}: ${await response.text()}`);
    this.capabilities = await response.json(); // CopilotKit's useCapabilities() reads this property
    return this.capabilities;
  }
}

await main(async ({ agent, older }, { url }) => {
  const schema = older ? AgentCapabilitiesSchema0 : AgentCapabilitiesSchema;
  const client = new GatewayAgent({ url: `${url}/agents/${agent}/${older ? "?protocol=0" : ""}` });
  const given = await client.getCapabilities();
  const { success, error, data } = schema.safeParse(given);
  return [{ given, understood: success ? data : null, wrong: error?.message ?? null, ...(await heard()) }];
});
