// Pieces that several pages show of an agent.

import { back, Unreachable } from "../lib/api.js";
import { h, icon } from "../lib/dom.js";
import { copyButton } from "../render/copy.js";
import { inlineNodes } from "../render/markdown.js";
import { STATUSES } from "./highlights.js";

const KINDS = { ready: "good", "needs-auth": "warn", broken: "bad" };
const DRIVERS = { acp: "ACP", cli: "command line", remote: "remote AG-UI", python: "Python" };

export function statusTag({ status }) {
  return h("span", { class: `tag ${KINDS[status] ?? ""}` }, h("span", { class: "dot" }), STATUSES[status] ?? status);
}

export function command(line, label = "Copy the command") {
  return h("div", { class: "command" }, h("code", { title: line }, line), copyButton(line, label));
}

/** Why it cannot run, and what to do. A hint to install is a command; one to sign in is a sentence with commands in it. */
export function remedy({ status, reason, hint, missing = [], platform }) {
  if (status === "ready") return null;
  const whole = status === "not-installed" || !hint?.includes(" ");
  const said = hint?.includes("`") ? [...hint.matchAll(/`([^`]+)`/g)].map((found) => found[1]) : [];
  return h("div", { class: "remedy" },
    reason && h("p", { class: "small" }, capital(reason)),
    platform === false && h("p", { class: "small muted" }, "It does not run on this system."),
    missing.length > 0 && h("p", { class: "small" }, "It also needs ", missing.map((one, at) => [at > 0 && ", ", h("code", {}, one.split(" ")[0])]), "."),
    hint && (whole && !said.length ? command(hint, "Copy how to install it") : [h("p", { class: "small md" }, inlineNodes(capital(hint))), said.map((one) => command(one))]));
}

const capital = (text) => text.slice(0, 1).toUpperCase() + text.slice(1);

/** Provider, version, and the way in, in a line. */
export function facts(agent) {
  const { identity, availability } = agent;
  const version = availability.version ?? identity.version;
  return [identity.provider, version && `v${String(version).replace(/^v/, "")}`, DRIVERS[agent.driver] ?? agent.driver, availability.door && `by ${availability.door}`, agent.via?.length && `via ${agent.via.join(", ")}`].filter(Boolean).join(" · ");
}

export function chatLink(id, { words = "Chat", primary = true } = {}) {
  return h("a", { class: `btn ${primary ? "primary" : ""}`, href: `#/agents/${encodeURIComponent(id)}/chat` }, icon("arrow"), words);
}

/** Calls `look` now and then as long as the page is seen and open, and as soon as a gateway that was away is back. What it
 *  throws is shown by `trouble(problem, again)`; null: all is well. */
export function keepLooking(look, every, abort, trouble = () => {}) {
  let waits = false;
  async function once() {
    try {
      await look();
      trouble(null);
    } catch (problem) {
      if (abort.aborted) return;
      trouble(problem, once);
      if (!(problem instanceof Unreachable) || waits) return;
      waits = true;
      await back(abort);
      waits = false;
      if (!abort.aborted) await once();
    }
  }
  const timer = setInterval(() => { if (!document.hidden && !waits) once(); }, every);
  abort.addEventListener("abort", () => clearInterval(timer), { once: true });
}

/** The hash's query, changed in place: a filter is kept by a reload and by whoever gets the link, and makes no history. */
export function keepInAddress(path, parameters) {
  const query = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value || value === 0)).toString();
  history.replaceState(null, "", `#${path}${query ? `?${query}` : ""}`);
}
