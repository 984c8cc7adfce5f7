// CUSTOM events → items. What the gateway and its drivers are known to tell has a meaning here; anything else is
// shown by its name, folded. Facts of the session (modes, commands, usage) come by the capability feed and are not shown.

const SILENT = new Set([
  "capabilities.changed", "claude.status", "claude.task", "hermes.status", "copilot.intent", "copilot.info", "acp.session_message", "acp.subagent",
]);

const words = (value) => [value?.message, value?.text, value?.title, value?.description].find((one) => typeof one === "string") ?? "";

export function custom(model, name, value, lane) {
  if (SILENT.has(name) || name.startsWith("session.")) return;
  const handler = Object.hasOwn(NAMED, name) ? NAMED[name] : NAMED[`*${name.slice(name.lastIndexOf("."))}`];
  if (!handler?.(model, value, lane)) model.item("custom", `${model.run?.id}:${model.items.length}`, { name, value, lane, open: false });
}

/** True: told. */
const NAMED = {
  "gateway.warning"(model, value) {
    model.notice("warn", words(value) || JSON.stringify(value), { code: value?.code });
    return true;
  },
  cost(model, value) {
    if (model.run && typeof value?.usd === "number") model.run.cost = (model.run.cost ?? 0) + value.usd;
    if (model.run && typeof value?.premiumRequests === "number") model.run.premiumRequests = value.premiumRequests;
    return true;
  },
  "acp.tool_call"(model, value, lane) {
    if (typeof value?.toolCallId !== "string") return false;
    const { toolCallId, output, ...shown } = value;
    const item = model.call({ type: "", toolCallId, subagentRunId: lane, metadata: { acp: shown } });
    if (typeof output === "string") item.result = output;
    return true;
  },
  "claude.retracted"(model, value) {
    for (const id of Array.isArray(value?.ids) ? value.ids : []) {
      const item = model.find("message", id) ?? model.find("reasoning", id) ?? model.find("tool", id);
      if (item) { item.retracted = true; model.note(item); }
    }
    return true;
  },
  "*.notice": told("info"),
  "*.retry": told("warn"),
  "claude.api_retry": told("warn"),
  "claude.command_output": told("info"),
  "copilot.error": told("warn"),
  "copilot.notification": told("info"),
};

function told(level) {
  return (model, value) => {
    const said = words(value);
    if (said) model.notice(level, said, { code: value?.code });
    return Boolean(said);
  };
}
