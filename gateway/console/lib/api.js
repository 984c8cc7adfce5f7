// HTTP calls to the gateway. All addresses are relative, so the console works under any path prefix.

import { signal } from "./signal.js";
import { readFrames } from "./sse.js";

const TOKEN_KEY = "agui-gateway-token";
export const token = signal(takeTokenFromAddress() ?? sessionStorage.getItem(TOKEN_KEY) ?? "");
token.subscribe((value) => (value ? sessionStorage.setItem(TOKEN_KEY, value) : sessionStorage.removeItem(TOKEN_KEY)));

/** The token of the URL that the gateway prints when it starts, `/#token=…`. It is removed from the address bar and from the history. */
function takeTokenFromAddress() {
  const found = /^#token=([\w.~-]+)$/.exec(globalThis.location?.hash ?? "");
  if (!found) return null;
  history.replaceState(history.state, "", location.pathname + location.search + "#/");
  return found[1];
}

/** True after the gateway answered 401. main.js then asks the user for a token. */
export const tokenRequired = signal(false);

/** An error response of the gateway (application/problem+json). */
export class Problem extends Error {
  constructor(status, body) {
    super(body.detail ?? body.title ?? `The gateway answered with status ${status}.`);
    Object.assign(this, { status, code: body.code, body });
  }
}

/** The gateway did not answer. The message replaces the browser's own, which is written for programmers. */
export class Unreachable extends Error {
  constructor() { super("The gateway cannot be reached."); }
}

/** Path segments, each percent-encoded, joined by slashes. */
export function encodePath(...parts) {
  return parts.map((part) => encodeURIComponent(part)).join("/");
}

export async function send(path, { method = "GET", body, accept = "application/json", signal: abort, headers = {} } = {}) {
  const requestHeaders = { accept, ...headers };
  if (token.value) requestHeaders.authorization = `Bearer ${token.value}`;
  if (body !== undefined) requestHeaders["content-type"] = "application/json";
  const json = body === undefined ? undefined : JSON.stringify(body);
  const response = await fetchGateway(path, { method, headers: requestHeaders, body: json, signal: abort, cache: "no-store" });
  if (response.ok) return response;
  if (response.status === 401) tokenRequired.value = true;
  throw new Problem(response.status, await response.json().catch(() => ({})));
}

async function fetchGateway(path, options) {
  try {
    return await fetch(path, options);
  } catch (problem) {
    throw options.signal?.aborted ? problem : new Unreachable();
  }
}

/** Does the gateway accept this token? */
export async function isTokenAccepted(candidate) {
  const response = await fetchGateway("agents", { headers: { authorization: `Bearer ${candidate}` }, cache: "no-store" });
  return response.status !== 401;
}

/** Does the gateway answer at all? */
export const isGatewayUp = () => fetch("healthz", { cache: "no-store" }).then(() => true, () => false);

/** Resolves when the gateway answers again, or when `abort` is signalled. */
export async function waitForGateway(abort) {
  do await new Promise((resolve) => setTimeout(resolve, HEALTH_CHECK_MS));
  while (!abort.aborted && !(await isGatewayUp()));
}

export async function getJson(path, options) {
  const response = await send(path, options);
  return response.status === 204 ? null : response.json();
}

export const postJson = (path, body, options) => getJson(path, { ...options, method: "POST", body });

const FIRST_RETRY_MS = 300, MAX_RETRY_MS = 8000, HEALTH_CHECK_MS = 1500;

/** Reads a stream of server-sent events until `abort`, and reconnects with the last event id after every break.
 *  `onFrame({id, event, data})` gets `data` as parsed JSON; `onState("open" | "lost" | "refused", problem?)` reports the
 *  connection. A 4xx response ends the loop, because the same request would fail again. */
export async function followEvents(path, onFrame, abort, onState = () => {}) {
  let lastId, wait = FIRST_RETRY_MS;
  while (!abort.aborted) {
    try {
      const headers = lastId === undefined ? {} : { "last-event-id": lastId };
      const response = await send(path, { accept: "text/event-stream", signal: abort, headers });
      onState("open");
      for await (const batch of readFrames(response)) {
        wait = FIRST_RETRY_MS;
        for (const frame of batch) {
          lastId = frame.id ?? lastId;
          onFrame({ ...frame, data: JSON.parse(frame.data) });
        }
      }
    } catch (problem) {
      if (abort.aborted) return;
      if (problem.status >= 400 && problem.status < 500) return onState("refused", problem);
      onState("lost", problem);
    }
    await new Promise((resolve) => setTimeout(resolve, wait));
    wait = Math.min(wait * 2, MAX_RETRY_MS);
  }
}
