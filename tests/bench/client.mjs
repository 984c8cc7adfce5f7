// One run, read by the official client: node client.mjs FOLDER URL SIZE MERGE. Prints seconds, and what it then holds.
import { createRequire } from "node:module";
import { join } from "node:path";

const [folder, url, size, merge] = process.argv.slice(2);
const { HttpAgent } = createRequire(join(folder, "package.json"))("@ag-ui/client");

async function run(text) {
  const messages = [{ id: "1", role: "user", content: text }];
  const agent = new HttpAgent({ url, threadId: crypto.randomUUID(), initialMessages: messages });
  const started = performance.now();
  await agent.runAgent({ forwardedProps: { gateway: { merge: merge === "true" } } });
  const seconds = (performance.now() - started) / 1000;
  return { seconds, characters: agent.messages.at(-1).content.length };
}

await run("100"); // the connection, and what is compiled at first use
console.log(JSON.stringify(await run(size)));
