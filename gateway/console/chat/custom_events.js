// Turns CUSTOM events into items. Known events of the gateway and its drivers have handlers; any other event is shown by its
// name, collapsed. Session state (modes, commands, usage) comes from the capability stream and is not shown here.

const HIDDEN_EVENTS = new Set([
  "capabilities.changed", "claude.status", "claude.task", "hermes.status", "copilot.intent", "copilot.info", "acp.session_message", "acp.subagent",
]);

const readMessage = (value) => [value?.message, value?.text, value?.title, value?.description].find((text) => typeof text === "string") ?? "";

export function handleCustomEvent(model, name, value, subagent) {
  if (HIDDEN_EVENTS.has(name) || name.startsWith("session.")) return;
  const handler = Object.hasOwn(EVENT_HANDLERS, name) ? EVENT_HANDLERS[name] : EVENT_HANDLERS[`*${name.slice(name.lastIndexOf("."))}`];
  if (!handler?.(model, value, subagent)) model.ensureItem("custom", `${model.run?.id}:${model.items.length}`, { name, value, subagent, open: false });
}

/** A handler returns true if it handled the event. */
const EVENT_HANDLERS = {
  "gateway.warning"(model, value) {
    model.addNotice("warn", readMessage(value) || JSON.stringify(value), { code: value?.code });
    return true;
  },
  cost(model, value) {
    if (model.run && typeof value?.usd === "number") model.run.cost = (model.run.cost ?? 0) + value.usd;
    if (model.run && typeof value?.premiumRequests === "number") model.run.premiumRequests = value.premiumRequests;
    return true;
  },
  "acp.tool_call"(model, value, subagent) {
    if (typeof value?.toolCallId !== "string") return false;
    const { toolCallId, output, ...fields } = value;
    const item = model.ensureToolCall({ type: "", toolCallId, subagentRunId: subagent, metadata: { acp: fields } });
    if (typeof output === "string") item.result = output;
    return true;
  },
  "claude.retracted"(model, value) {
    for (const id of Array.isArray(value?.ids) ? value.ids : []) {
      const item = model.find("message", id) ?? model.find("reasoning", id) ?? model.find("tool", id);
      if (item) { item.retracted = true; model.markChanged(item); }
    }
    return true;
  },
  "*.notice": noticeHandler("info"),
  "*.retry": noticeHandler("warn"),
  "claude.api_retry": noticeHandler("warn"),
  "claude.command_output": noticeHandler("info"),
  "copilot.error": noticeHandler("warn"),
  "copilot.notification": noticeHandler("info"),
};

function noticeHandler(level) {
  return (model, value) => {
    const message = readMessage(value);
    if (message) model.addNotice(level, message, { code: value?.code });
    return Boolean(message);
  };
}
