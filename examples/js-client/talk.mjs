// What a frontend does: look first, then talk, then answer. A gateway elsewhere is named by GATEWAY.

import { GatewayAgent } from "./gateway-agent.mjs";

const gateway = process.env.GATEWAY ?? "http://127.0.0.1:8123";
const agent = new GatewayAgent({ url: `${gateway}/agents/demo` });

const { multimodal, reasoning, humanInTheLoop } = await agent.getCapabilities();
console.log("show a paperclip:", multimodal?.input?.image === true);
console.log("show a reasoning panel:", reasoning?.supported === true);
console.log("expect questions:", humanInTheLoop?.interrupts === true);

const interrupts = [];
agent.subscribe({
  onTextMessageContentEvent: ({ event }) => void process.stdout.write(event.delta),
  onTextMessageEndEvent: () => void process.stdout.write("\n"),
  onRunFinishedEvent: ({ event }) => void interrupts.push(...(event.outcome?.interrupts ?? [])),
});

agent.addMessage({ id: "1", role: "user", content: "approve" });
await agent.runAgent();

const [question] = interrupts.splice(0);
console.log("asked:", question.message);
await agent.runAgent({ resume: [{ interruptId: question.id, status: "resolved", payload: { approved: true } }] });
console.log("open questions:", interrupts.length);
