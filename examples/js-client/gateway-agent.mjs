// An HttpAgent with getCapabilities(): it reads the gateway's snapshot of the agent.

import { HttpAgent } from "@ag-ui/client";

export class GatewayAgent extends HttpAgent {
  /** The agent's current capabilities; with `threadId`, those in that thread, with its mode, model and tools. */
  async getCapabilities(threadId) {
    const query = threadId === undefined ? "" : `?thread=${encodeURIComponent(threadId)}`;
    const response = await fetch(`${this.url}/capabilities${query}`, { headers: this.headers });
    const body = await response.json();
    if (!response.ok) throw new Error(body.detail ?? `the gateway answered ${response.status}`);
    return body;
  }
}
