// A run is received to its end, whatever happens to the connection: every event once, in order.
import assert from "node:assert/strict";
import { test } from "node:test";

globalThis.sessionStorage = { getItem: () => null, setItem() {}, removeItem() {} };
const { Runner } = await import("../../gateway/console/chat/runner.js");

const RUN = [{ type: "RUN_STARTED" }, { type: "CUSTOM", name: "a" }, { type: "CUSTOM", name: "b" }, { type: "CUSTOM", name: "c" }, { type: "RUN_FINISHED" }];
const frame = (number) => `id: ${number}\ndata: ${JSON.stringify(RUN[number - 1])}\n\n`;

/** A response with these frames that then ends, or breaks with an error. */
function stream(numbers, breaks = false) {
  const remaining = [...numbers];
  const body = new ReadableStream({
    pull(controller) {
      if (remaining.length) controller.enqueue(new TextEncoder().encode(frame(remaining.shift())));
      else if (breaks) controller.error(new TypeError("network"));
      else controller.close();
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

async function receiveRun(...responses) {
  const requests = [], events = [], states = [];
  globalThis.fetch = async (path, { method }) => {
    requests.push(`${method} ${path}`);
    const response = responses.shift();
    if (response instanceof Error) throw response;
    return response;
  };
  const runner = new Runner("demo", new AbortController().signal,
    { onEvents: (batch) => events.push(...batch), onState: (state) => states.push(state), format: () => "sse" });
  const failed = await runner.start({ runId: "r 1" }).then(() => null, (problem) => problem);
  return { requests, numbers: events.map(({ number }) => number), states, failed };
}

test("an unbroken run takes one request", async () => {
  const { requests, numbers, states } = await receiveRun(stream([1, 2, 3, 4, 5]));
  assert.deepEqual([requests, numbers], [["POST agents/demo"], [1, 2, 3, 4, 5]]);
  assert.equal(states.at(-1), "idle");
});

test("after a break the run continues after the last event, without duplicates", async () => {
  const { requests, numbers, states } = await receiveRun(stream([1, 2]), new TypeError("refused"), stream([2, 3], true), stream([3, 4, 5]));
  assert.deepEqual(numbers, [1, 2, 3, 4, 5]);
  assert.deepEqual(requests.slice(1), [2, 2, 3].map((after) => `GET runs/r%201/events?after=${after}`));
  assert.ok(states.includes("lost"));
});

test("a refusal is reported at once with the gateway's message", async () => {
  const refusal = new Response(JSON.stringify({ detail: "no images", code: "CAPABILITY_ERROR" }),
    { status: 422, headers: { "content-type": "application/problem+json" } });
  const { requests, failed } = await receiveRun(refusal);
  assert.deepEqual([requests.length, failed.message, failed.code], [1, "no images", "CAPABILITY_ERROR"]);
});
