// Kind of item → how it is drawn: `(item, context) => {node, update(item, hasTime)}`; a subagent also has a `lane` for what it does.
// An update that is true has more to show, once there is time again.

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
