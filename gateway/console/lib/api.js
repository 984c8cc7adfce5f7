// The gateway's routes, as the page calls them. All addresses are relative, so the console works under any prefix.

import { signal } from "./signal.js";
import { batches } from "./sse.js";

const TOKEN = "agui-gateway-token";
export const token = signal(sessionStorage.getItem(TOKEN) ?? "");
token.follow((value) => (value ? sessionStorage.setItem(TOKEN, value) : sessionStorage.removeItem(TOKEN)));
/** Set when the gateway wants a token, or another one; the shell asks for it. */
export const refused = signal(false);

/** What the gateway refused, in its own words (application/problem+json). */
export class Problem extends Error {
  constructor(status, body) {
    super(body.detail ?? body.title ?? `the gateway answered ${status}`);
    Object.assign(this, { status, code: body.code, body });
  }
}

/** Nobody answered. What the browser says of it is for programmers. */
export class Unreachable extends Error {
  constructor() { super("The gateway is out of reach."); }
}

export function at(...parts) {
  return parts.map((part) => encodeURIComponent(part)).join("/");
}

export async function send(path, { method = "GET", body, accept = "application/json", signal: abort, headers = {} } = {}) {
  const asked = { accept, ...headers };
  if (token.value) asked.authorization = `Bearer ${token.value}`;
  if (body !== undefined) asked["content-type"] = "application/json";
  const response = await reach(path, { method, headers: asked, body: body === undefined ? undefined : JSON.stringify(body), signal: abort, cache: "no-store" });
  if (response.ok) return response;
  if (response.status === 401) refused.value = true;
  throw new Problem(response.status, await response.json().catch(() => ({})));
}

async function reach(path, options) {
  try {
    return await fetch(path, options);
  } catch (problem) {
    throw options.signal?.aborted ? problem : new Unreachable();
  }
}

/** Would the gateway take this token? */
export async function accepted(given) {
  return (await reach("agents", { headers: { authorization: `Bearer ${given}` }, cache: "no-store" })).status !== 401;
}

/** Does anybody answer? */
export const alive = () => fetch("healthz", { cache: "no-store" }).then(() => true, () => false);

/** Resolves when the gateway answers again, or when nobody waits for that any more. */
export async function back(abort) {
  do await new Promise((resolve) => setTimeout(resolve, BETWEEN));
  while (!abort.aborted && !(await alive()));
}

export async function getJson(path, options) {
  const response = await send(path, options);
  return response.status === 204 ? null : response.json();
}

export const postJson = (path, body, options) => getJson(path, { ...options, method: "POST", body });

const SOONEST = 300, LATEST = 8000, BETWEEN = 1500;

/** Follows a feed of server-sent events for ever, coming back with the last id after every break.
 *  `heard({id, event, data})` has `data` parsed; `state("open"|"lost", problem?)` tells of the connection.
 *  A refusal (4xx) ends it: asking again would not help. */
export async function follow(path, heard, abort, state = () => {}) {
  let last, wait = SOONEST;
  while (!abort.aborted) {
    try {
      const headers = last === undefined ? {} : { "last-event-id": last };
      const response = await send(path, { accept: "text/event-stream", signal: abort, headers });
      state("open");
      for await (const batch of batches(response)) {
        wait = SOONEST;
        for (const frame of batch) {
          last = frame.id ?? last;
          heard({ ...frame, data: JSON.parse(frame.data) });
        }
      }
    } catch (problem) {
      if (abort.aborted) return;
      if (problem.status >= 400 && problem.status < 500) return state("refused", problem);
      state("lost", problem);
    }
    await new Promise((resolve) => setTimeout(resolve, wait));
    wait = Math.min(wait * 2, LATEST);
  }
}
