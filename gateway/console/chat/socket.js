// A run over the gateway's WebSocket, as batches of {number, text}: the same as its server-sent events would be.

import { at, Problem, token } from "../lib/api.js";

/** `first`: {type: "run", input} or {type: "attach", runId, after}. Ends with the connection; rejects with the gateway's
 *  refusal. Leaving it does not stop the run: that was asked for in its input. */
export async function* overSocket(agent, first, abort) {
  const address = new URL(`${at("agents", agent)}/socket`, document.baseURI);
  address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
  address.hash = "";
  const socket = new WebSocket(address, ["agui.json", ...(token.value ? [`bearer.${token.value}`] : [])]);
  const leave = () => socket.close();
  abort.addEventListener("abort", leave, { once: true });
  const heard = [];
  let wake = () => {}, over = false;
  socket.onopen = () => socket.send(JSON.stringify(first));
  socket.onmessage = ({ data }) => { heard.push(data); wake(); };
  socket.onclose = () => { over = true; wake(); };
  try {
    while (heard.length || !over) {
      if (!heard.length) await new Promise((resolve) => (wake = resolve));
      for (const message of heard.splice(0).map((data) => JSON.parse(data))) {
        if (message.problem) throw new Problem(message.problem.status, message.problem);
        yield message.events.map((event, index) => ({ number: message.first + index, text: JSON.stringify(event) }));
      }
    }
  } finally {
    abort.removeEventListener("abort", leave);
    leave();
  }
}
