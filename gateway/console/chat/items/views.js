// Maps each kind of item to its view: `(item, context) => {node, update(item, hasTime)}`. A subagent view also has
// `subagentItems`, the parent of its items. `update` returns true if it has more to show when there is time again.

import { activityView } from "./activity.js";
import { customView, noticeView, runView, stateView, stepView } from "./notices.js";
import { messageView } from "./message.js";
import { reasoningView } from "./reasoning.js";
import { subagentView } from "./subagent.js";
import { toolView } from "./tool.js";

export const VIEWS = {
  message: messageView, reasoning: reasoningView, tool: toolView, activity: activityView, subagent: subagentView,
  notice: noticeView, run: runView, state: stateView, custom: customView, step: stepView,
};
