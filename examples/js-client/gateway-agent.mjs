// An HttpAgent that can say what it is able to: the snapshot that the gateway keeps of every agent.

import { HttpAgent } from "@ag-ui/client";

export class GatewayAgent extends HttpAgent {
  /** What the agent can do now; with `threadId`, in that conversation: its mode, its model, its tools. */
  async getCapabilities(threadId) {
    const query = threadId === undefined ? "" : `?thread=${encodeURIComponent(threadId)}`;
    const response = await fetch(`${this.url}/capabilities${query}`, { headers: this.headers });
    const body = await response.json();
    if (!response.ok) throw new Error(body.detail ?? `the gateway answered ${response.status}`);
    return body;
  }
}
