// A run is followed to its end, whatever becomes of the connection: every event once, in order.
import assert from "node:assert/strict";
import { test } from "node:test";

globalThis.sessionStorage = { getItem: () => null, setItem() {}, removeItem() {} };
const { Runner } = await import("../../gateway/console/chat/runner.js");

const RUN = [{ type: "RUN_STARTED" }, { type: "CUSTOM", name: "a" }, { type: "CUSTOM", name: "b" }, { type: "CUSTOM", name: "c" }, { type: "RUN_FINISHED" }];
const frame = (number) => `id: ${number}\ndata: ${JSON.stringify(RUN[number - 1])}\n\n`;

/** A response that gives these frames, then ends; `cut`: breaks instead. */
function stream(numbers, cut = false) {
  const left = [...numbers];
  const body = new ReadableStream({
    pull(controller) {
      if (left.length) controller.enqueue(new TextEncoder().encode(frame(left.shift())));
      else if (cut) controller.error(new TypeError("network"));
      else controller.close();
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

async function follow(...answers) {
  const asked = [], heard = [], states = [];
  globalThis.fetch = async (path, { method }) => {
    asked.push(`${method} ${path}`);
    const answer = answers.shift();
    if (answer instanceof Error) throw answer;
    return answer;
  };
  const runner = new Runner("demo", new AbortController().signal, { heard: (batch) => heard.push(...batch), state: (state) => states.push(state), format: () => "sse" });
  const failed = await runner.start({ runId: "r 1" }).then(() => null, (problem) => problem);
  return { asked, numbers: heard.map(({ number }) => number), states, failed };
}

test("a run that goes well takes one request", async () => {
  const { asked, numbers, states } = await follow(stream([1, 2, 3, 4, 5]));
  assert.deepEqual([asked, numbers], [["POST agents/demo"], [1, 2, 3, 4, 5]]);
  assert.equal(states.at(-1), "idle");
});

test("after a break it goes on behind the last event, and hears none twice", async () => {
  const { asked, numbers, states } = await follow(stream([1, 2]), new TypeError("refused"), stream([2, 3], true), stream([3, 4, 5]));
  assert.deepEqual(numbers, [1, 2, 3, 4, 5]);
  assert.deepEqual(asked.slice(1), [2, 2, 3].map((after) => `GET runs/r%201/events?after=${after}`));
  assert.ok(states.includes("lost"));
});

test("a refusal is told at once, in the gateway's words", async () => {
  const told = new Response(JSON.stringify({ detail: "no images", code: "CAPABILITY_ERROR" }), { status: 422, headers: { "content-type": "application/problem+json" } });
  const { asked, failed } = await follow(told);
  assert.deepEqual([asked.length, failed.message, failed.code], [1, "no images", "CAPABILITY_ERROR"]);
});
