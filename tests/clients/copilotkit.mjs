/*
 * `@copilotkit/core` 1.75, what CopilotKit's React app is made of, with the gateway as its `runtimeUrl`.
 *
 * A talk is one thread; a *page* is one `CopilotKitCore` on it. A step says something (`say`), answers the open
 * interrupts (`answers`; with `noted: true` they become tool messages too), or only reloads (`reload: true`: a new
 * page connects to the thread). While a step's run is live, at the nth piece of text: `stopAfter: n` stops it,
 * `joinAfter: n` opens a second page on the same thread, and `stopFromSecond: n` lets that page stop the run at the
 * nth piece that it sees itself.
 */

import { atPiece, heard, held, inWords, main, watch } from "./harness.mjs";
import { z } from "zod";

// CopilotKit does nothing during server-side rendering, which it tells by the absence of a window.
globalThis.window = {};
const { CopilotKitCore, ɵInterruptState: InterruptState } = await import("@copilotkit/core");

await main(async (talk, { url }) => {
  const threadId = crypto.randomUUID();
  const open = () => openPage(`${url}/copilotkit`, talk, threadId);
  const steps = [];
  let page = await open();
  for (const step of talk.steps) {
    if (step.reload) page = await open();
    steps.push(await play(page, step, open));
  }
  return steps;
});

async function openPage(runtimeUrl, talk, threadId) {
  const core = new CopilotKitCore({ runtimeUrl });
  const page = { core, errors: [], handled: [] };
  core.subscribe({ onError: ({ error, code }) => void page.errors.push(`${code}: ${inWords(error)}`) });
  await connected(core);
  page.info = { status: core.runtimeConnectionStatus, transport: core.runtimeTransport, agents: describe(core.agents) };
  page.agent = core.getAgent(talk.agent);
  page.agent.threadId = threadId;
  if (talk.state) page.agent.setState(talk.state);
  if (talk.backgroundTool) core.addTool(backgroundTool(page));
  return page;
}

function connected(core) {
  return new Promise((resolve) => {
    const settled = ({ status }) => (status === "connected" || status === "error") && resolve();
    core.subscribe({ onRuntimeConnectionStatusChanged: settled });
    settled({ status: core.runtimeConnectionStatus });
  });
}

function describe(agents) {
  const entries = Object.entries(agents);
  return Object.fromEntries(entries.map(([id, { description, capabilities }]) => [id, { description, capabilities }]));
}

function backgroundTool(page) {
  return {
    name: "change_background",
    description: "Changes the colour of the page.",
    parameters: z.object({ color: z.string() }),
    handler: async (args) => {
      page.handled.push(args);
      return `the page is ${args.color} now`;
    },
  };
}

async function play(page, step, open) {
  let second = null;
  const stop = (from) => from.core.stopAgent({ agent: from.agent });
  const join = () => {
    second = open().then((other) => connect(other, atPiece(step.stopFromSecond, () => stop(other))));
  };
  const stopAt = atPiece(step.stopAfter, () => stop(page));
  const joinAt = atPiece(step.joinAfter, join);
  const first = step.reload
    ? await connect(page)
    : await run(page, step, (event) => void (stopAt(event), joinAt(event)));
  return { ...first, second: await second, ...(await heard()) };
}

async function connect(page, onEvent) {
  return observed(page, () => page.core.connectAgent({ agent: page.agent }), onEvent);
}

async function run(page, step, onEvent) {
  const { core, agent } = page;
  if (step.say !== undefined) agent.addMessage({ id: crypto.randomUUID(), role: "user", content: step.say });
  const resume = step.answers && answer(agent, step);
  return observed(page, () => core.runAgent({ agent, ...(resume && { resume }) }), onEvent);
}

/**
 * Through the state that the core shares among its framework adapters. Beside the resume it hands out `toolResults`,
 * answers to tool calls in the form of tool messages; what an adapter does with those is not the core's to say.
 */
function answer(agent, { answers, noted }) {
  const interrupts = new InterruptState();
  interrupts.setStandard(agent.pendingInterrupts);
  const ids = agent.pendingInterrupts.map(({ id }) => id);
  const actions = answers.map(({ status, payload }, index) =>
    status === "cancelled" ? interrupts.cancel(ids[index]) : interrupts.resolve(payload, ids[index]),
  );
  const { resume, toolResults } = actions.at(-1);
  for (const result of noted ? toolResults : []) {
    agent.addMessage({ id: crypto.randomUUID(), role: "tool", ...result });
  }
  return resume;
}

async function observed(page, act, onEvent) {
  const { seen, unsubscribe } = watch(page.agent, onEvent);
  await act(); // never rejects: what goes wrong is told to `onError`
  unsubscribe();
  const { info, errors, handled } = page;
  const rejected = errors.splice(0).join("; ") || null;
  return { ...seen, ...held(page.agent), info, handled: [...handled], rejected, complaints: [], requests: [] };
}
