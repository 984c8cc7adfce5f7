// Parts that several pages use to show an agent: status, description, what to do when it cannot run, polling.

import { Unreachable, waitForGateway } from "../lib/api.js";
import { h, icon } from "../lib/dom.js";
import { copyButton } from "../render/copy.js";
import { inlineNodes } from "../render/markdown.js";
import { STATUSES } from "./highlights.js";

const STATUS_COLOURS = { ready: "good", "needs-auth": "warn", broken: "bad" };
const DRIVERS = { acp: "ACP", cli: "command line", remote: "remote AG-UI", python: "Python" };

export function statusTag({ status }) {
  return h("span", { class: `tag ${STATUS_COLOURS[status] ?? ""}` }, h("span", { class: "dot" }), STATUSES[status] ?? status);
}

export function commandLine(line, label = "Copy the command") {
  return h("div", { class: "command" }, h("code", { title: line }, line), copyButton(line, label));
}

/** Why the agent cannot run, and what to do. An install hint is one command; a sign-in hint is a sentence that may contain
 *  commands. */
export function remedyView({ status, reason, hint, missing = [], platform }) {
  if (status === "ready") return null;
  const isCommand = status === "not-installed" || !hint?.includes(" ");
  const commands = hint?.includes("`") ? [...hint.matchAll(/`([^`]+)`/g)].map((match) => match[1]) : [];
  return h("div", { class: "remedy" },
    reason && h("p", { class: "small" }, capitalize(reason)),
    platform === false && h("p", { class: "small muted" }, "This agent does not run on this system."),
    missing.length > 0 && h("p", { class: "small" }, "This agent also needs ",
      missing.map((program, index) => [index > 0 && ", ", h("code", {}, program.split(" ")[0])]), "."),
    hint && (isCommand && !commands.length ? commandLine(hint, "Copy the install command")
      : [h("p", { class: "small md" }, inlineNodes(capitalize(hint))), commands.map((line) => commandLine(line))]));
}

const capitalize = (text) => text.slice(0, 1).toUpperCase() + text.slice(1);

/** One line with provider, version, driver, transport and the gateways in between. */
export function describeAgent(agent) {
  const { identity, availability } = agent;
  const version = availability.version ?? identity.version;
  return [identity.provider, version && `v${String(version).replace(/^v/, "")}`, DRIVERS[agent.driver] ?? agent.driver,
    describeTransport(agent), agent.via?.length && `via ${agent.via.join(", ")}`].filter(Boolean).join(" · ");
}

/** Which of its transports is used, where it is not the first one. */
function describeTransport({ availability, transports = [] }) {
  const used = transports.findIndex(({ state }) => state === "in-use");
  if (used > 0) return `over ${transports[used].name}, its ${ORDINALS[used] ?? "last"} choice`;
  return availability.transport && `over ${availability.transport}`;
}

const ORDINALS = ["first", "second", "third", "fourth"];

export function chatLink(id, { label = "Chat", primary = true } = {}) {
  return h("a", { class: `btn ${primary ? "primary" : ""}`, href: `#/agents/${encodeURIComponent(id)}/chat` }, icon("arrow"), label);
}

/** Calls `poll` every `intervalMs` while the page is visible, and as soon as an unreachable gateway is back. Reports each
 *  result by `onResult(problem, retry)`; `problem` is null after a success. */
export function pollWhileVisible(poll, intervalMs, abort, onResult = () => {}) {
  let isWaiting = false;
  async function pollOnce() {
    try {
      await poll();
      onResult(null);
    } catch (problem) {
      if (abort.aborted) return;
      onResult(problem, pollOnce);
      if (!(problem instanceof Unreachable) || isWaiting) return;
      isWaiting = true;
      await waitForGateway(abort);
      isWaiting = false;
      if (!abort.aborted) await pollOnce();
    }
  }
  const timer = setInterval(() => { if (!document.hidden && !isWaiting) pollOnce(); }, intervalMs);
  abort.addEventListener("abort", () => clearInterval(timer), { once: true });
}

/** Replaces the query in the URL hash, without a history entry. A reload or a shared link then shows the same filters. */
export function saveInAddress(path, parameters) {
  const query = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value || value === 0)).toString();
  history.replaceState(null, "", `#${path}${query ? `?${query}` : ""}`);
}
