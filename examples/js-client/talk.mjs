// What a frontend does: read the capabilities, run the agent, answer its interrupt. GATEWAY chooses another gateway.

import { GatewayAgent } from "./gateway-agent.mjs";

const gateway = process.env.GATEWAY ?? "http://127.0.0.1:8123";
const agent = new GatewayAgent({ url: `${gateway}/agents/demo` });

const { multimodal, reasoning, humanInTheLoop } = await agent.getCapabilities();
console.log("show a paperclip:", multimodal?.input?.image === true);
console.log("show a reasoning panel:", reasoning?.supported === true);
console.log("expect interrupts:", humanInTheLoop?.interrupts === true);

const interrupts = [];
agent.subscribe({
  onTextMessageContentEvent: ({ event }) => void process.stdout.write(event.delta),
  onTextMessageEndEvent: () => void process.stdout.write("\n"),
  onRunFinishedEvent: ({ event }) => void interrupts.push(...(event.outcome?.interrupts ?? [])),
});

agent.addMessage({ id: "1", role: "user", content: "approve" });
await agent.runAgent();

const [interrupt] = interrupts.splice(0);
console.log("interrupt:", interrupt.message);
await agent.runAgent({ resume: [{ interruptId: interrupt.id, status: "resolved", payload: { approved: true } }] });
console.log("open interrupts:", interrupts.length);
