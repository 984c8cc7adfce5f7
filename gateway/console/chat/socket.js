// Receives a run over the gateway's WebSocket, in the same batches of {number, text} as from server-sent events.

import { encodePath, Problem, token } from "../lib/api.js";

/** `request`: {type: "run", input} or {type: "attach", runId, after}. Ends with the connection; throws the gateway's problem.
 *  Closing the socket does not stop the run, as requested in its input. */
export async function* runOverSocket(agent, request, abort) {
  const address = new URL(`${encodePath("agents", agent)}/socket`, document.baseURI);
  address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
  address.hash = "";
  const socket = new WebSocket(address, ["agui.json", ...(token.value ? [`bearer.${token.value}`] : [])]);
  const close = () => socket.close();
  abort.addEventListener("abort", close, { once: true });
  const received = [];
  let wake = () => {}, isClosed = false;
  socket.onopen = () => socket.send(JSON.stringify(request));
  socket.onmessage = ({ data }) => { received.push(data); wake(); };
  socket.onclose = () => { isClosed = true; wake(); };
  try {
    while (received.length || !isClosed) {
      if (!received.length) await new Promise((resolve) => (wake = resolve));
      for (const message of received.splice(0).map((data) => JSON.parse(data))) {
        if (message.problem) throw new Problem(message.problem.status, message.problem);
        yield message.events.map((event, index) => ({ number: message.first + index, text: JSON.stringify(event) }));
      }
    }
  } finally {
    abort.removeEventListener("abort", close);
    close();
  }
}
