/*
 * What every script here shares. In: one job as JSON on stdin. Out: one JSON line on stdout.
 * Whatever a client complains about on the way (console.warn, console.error, a rejection that nobody
 * handles) is kept for the answer, because a healthy run makes a client say nothing at all.
 */

const JOB_LIMIT = 90_000; // real agents start slowly on a busy machine

const complaints = [];
const requests = [];

for (const level of ["warn", "error"]) {
  console[level] = (...words) => complaints.push(`${level}: ${words.map(inWords).join(" ")}`);
}
process.on("unhandledRejection", (error) => complaints.push(`unhandled: ${inWords(error)}`));

const plainFetch = globalThis.fetch;
globalThis.fetch = async (url, init) => {
  const request = { url: String(url), method: init?.method ?? "GET", body: init?.body ?? null };
  requests.push(request);
  const response = await plainFetch(url, init);
  request.status = response.status;
  request.contentType = response.headers.get("content-type");
  return response;
};

export function inWords(value) {
  if (value instanceof Error) return `${value.name}: ${value.message}`;
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** What was said and sent since the last call. */
export async function heard() {
  await new Promise(setImmediate); // a rejection counts as unhandled only after its turn of the loop
  return { complaints: complaints.splice(0), requests: requests.splice(0) };
}

/** Notes what an agent of any version tells its subscribers. */
export function watch(agent, onEvent = () => {}) {
  const seen = { events: [], runErrors: [], failures: [], outcome: null, pendingToolCallIds: null };
  const { unsubscribe } = agent.subscribe({
    onEvent: ({ event }) => {
      seen.events.push(event);
      onEvent(event);
    },
    onRunErrorEvent: ({ event }) => void seen.runErrors.push(event),
    onRunFailed: ({ error }) => void seen.failures.push(inWords(error)),
    onRunFinishedEvent: ({ outcome, pendingToolCallIds }) => {
      seen.outcome = outcome ?? null;
      seen.pendingToolCallIds = pendingToolCallIds ?? null;
    },
  });
  return { seen, unsubscribe };
}

/** What the application can see of an agent now. */
export function held(agent) {
  const { threadId, messages, state, pendingInterrupts } = agent;
  return structuredClone({ threadId, messages, state, pendingInterrupts: pendingInterrupts ?? [] });
}

/** Calls `act` at the nth piece of text. */
export function atPiece(count, act) {
  let left = count ?? 0;
  return (event) => {
    if (event.type === "TEXT_MESSAGE_CONTENT" && left > 0 && --left === 0) act();
  };
}

/** Plays each of the job's conversations in its turn; one that breaks or hangs does not take the others along. */
export async function main(play) {
  let text = "";
  for await (const chunk of process.stdin) text += chunk;
  const job = JSON.parse(text);
  const talks = [];
  for (const talk of job.talks) talks.push(await bounded(play(talk, job)));
  await new Promise((written) => process.stdout.write(`${JSON.stringify({ talks })}\n`, written));
  process.exit(0); // sockets kept alive for a next request would hold the process
}

async function bounded(playing) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not over after ${JOB_LIMIT} ms`)), JOB_LIMIT);
  });
  try {
    return { steps: await Promise.race([playing, late]) };
  } catch (error) {
    return { steps: [], broken: inWords(error), ...(await heard()) };
  } finally {
    clearTimeout(timer);
  }
}
