/*
 * A conversation with `HttpAgent`, of whichever version: the steps of a talk, one run each, on one thread.
 *
 * A step says something (`say`), answers the open interrupts (`answers`, in their order) or the calls of the page's
 * own tools (`results`, in their order); `abortAfter: n` aborts at the nth piece of text. `replay: "sse"` or
 * `"protobuf"` is no run of its own: another client attaches to the talk's first run and sees it again.
 */

import { atPiece, heard, held, inWords, watch } from "./harness.mjs";

const PROTOBUF = "application/vnd.ag-ui.event+proto";

export async function converse(HttpAgent, talk, { url }) {
  const Agent = talk.protobuf ? overProtobuf(HttpAgent) : HttpAgent;
  const agent = new Agent({ url: `${url}/agents/${talk.agent}`, initialState: talk.state });
  const steps = [];
  let pending = [];
  for (const step of talk.steps) {
    const log = () => `${url}/runs/${steps[0].events[0].runId}/events`;
    const whose = step.replay ? replayer(HttpAgent, step.replay, log()) : agent;
    const done = await run(whose, step, talk.tools ?? [], pending);
    pending = done.pendingToolCallIds ?? unanswered(agent.messages);
    steps.push(done);
  }
  return steps;
}

/** The official way to ask for protobuf: `requestInit` is there to be overridden. */
function overProtobuf(HttpAgent) {
  return class extends HttpAgent {
    requestInit(input) {
      const init = super.requestInit(input);
      return { ...init, headers: { ...init.headers, Accept: PROTOBUF } };
    }
  };
}

function replayer(HttpAgent, transport, url) {
  class Replayer extends HttpAgent {
    requestInit() {
      return { method: "GET", headers: { Accept: transport === "protobuf" ? PROTOBUF : "text/event-stream" } };
    }
  }
  return new Replayer({ url });
}

async function run(agent, step, tools, pending) {
  const resume = prepare(agent, step, pending);
  const { seen, unsubscribe } = watch(agent, atPiece(step.abortAfter, () => agent.abortRun()));
  let rejected = null;
  try {
    await agent.runAgent({ tools, ...(resume && { resume }) });
  } catch (error) {
    rejected = inWords(error);
  }
  unsubscribe();
  return { ...seen, ...held(agent), rejected, ...(await heard()) };
}

function prepare(agent, step, pending) {
  if (step.say !== undefined) agent.addMessage({ id: crypto.randomUUID(), role: "user", content: step.say });
  for (const [index, content] of (step.results ?? []).entries()) {
    agent.addMessage({ id: crypto.randomUUID(), role: "tool", toolCallId: pending[index], content });
  }
  return step.answers?.map((answer, index) => ({ interruptId: agent.pendingInterrupts[index].id, ...answer }));
}

/** Clients before 1.0 leave it to the application to find the calls that are its own to answer. */
function unanswered(messages) {
  const answered = new Set(messages.map(({ toolCallId }) => toolCallId));
  const calls = messages.flatMap(({ toolCalls }) => toolCalls ?? []);
  return calls.map(({ id }) => id).filter((id) => !answered.has(id));
}
