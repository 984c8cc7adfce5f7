// What is shown, and how much of it in one go: a text and a list of items that are built while there is time.
import assert from "node:assert/strict";
import { test } from "node:test";

import { openPage, written } from "./page.mjs";
import { List } from "../../gateway/console/chat/message_list.js";
import { Model } from "../../gateway/console/chat/model.js";
import { Markdown } from "../../gateway/console/render/markdown.js";

const page = openPage();
const pause = () => new Promise((resolve) => setTimeout(resolve, 1));
const never = () => false;

const TEXTS = {
  paragraphs: Array.from({ length: 900 }, (_, at) => `word ${at} **bold** \`code\``).join("\n\n"),
  list: Array.from({ length: 4000 }, (_, at) => `- item ${at} *em*`).join("\n"),
  tasks: Array.from({ length: 400 }, (_, at) => `${at + 1}. [x] item ${at}\n\n   - inner`).join("\n"),
  table: `| a | b |\n|---|:-:|\n${Array.from({ length: 4000 }, (_, at) => `| ${at} | **x** |`).join("\n")}\n\nafter`,
  code: `\`\`\`python\n${Array.from({ length: 3000 }, (_, at) => `x${at} = "${at}"  # why`).join("\n")}\n\`\`\`\nafter`,
  line: "wörd 😀 ".repeat(4000),
  quote: Array.from({ length: 1500 }, (_, at) => `> ${at}`).join("\n>\n"),
};

function whole(text) {
  const markdown = new Markdown();
  assert.equal(markdown.update(text), false);
  return markdown.node;
}

for (const [name, text] of Object.entries(TEXTS)) {
  test(`a long text is shown a step at a time, and in the end all of it: ${name}`, () => {
    const markdown = new Markdown();
    let steps = 1;
    for (; markdown.update(text, false, never); steps += 1) assert.ok(markdown.node.textContent.length < steps * 8000 + 8000);
    assert.ok(steps > 3, `${steps}`);
    assert.equal(written(markdown.node), written(whole(text)));
  });

  test(`and so is one that grows faster than it is shown: ${name}`, () => {
    const markdown = new Markdown(), seen = new Markdown();
    for (let at = 0; at < text.length; at += 7001) markdown.update(text.slice(0, at), true, never);
    while (markdown.update(text, false, never));
    for (let at = 0; at < text.length; at += 997) seen.update(text.slice(0, at), true);
    seen.update(text, false);
    assert.equal(written(markdown.node), written(seen.node));
  });
}

test("what is settled stays the node it was", () => {
  const markdown = new Markdown();
  markdown.update("a\n\n- b\n- c\n", true);
  const [first, list] = markdown.node.childNodes, item = list.firstChild;
  markdown.update(`a\n\n- b\n- c\n${"- more\n".repeat(2000)}`, true);
  assert.deepEqual([markdown.node.firstChild === first, markdown.node.lastChild === list, list.firstChild === item], [true, true, true]);
  assert.equal(list.childNodes.length, 2002);
});

test("another text starts over, and the place where more comes is marked while it does", () => {
  const markdown = new Markdown();
  markdown.update(TEXTS.list, true, never);
  markdown.update("*other*", true);
  assert.equal(written(markdown.node), "<div md><p md-tail><em>other</em></p></div>");
  markdown.update("*other*", false);
  assert.equal(written(markdown.node), "<div md><p><em>other</em></p></div>");
});

test("a text of more blocks than can be shown has its rest folded, once it is whole", () => {
  const { childNodes } = whole("a\n\n".repeat(30_000));
  assert.ok(childNodes.flatMap((node) => [node, ...node.childNodes]).length < 12_000);
  assert.match(childNodes.at(-1).textContent, /^\d+ more characters$/);
});

function listed() {
  const model = new Model(), list = new List(model, { session: { capabilities: { value: {} }, agent: "a", model } });
  return { model, list, said: () => list.inside.childNodes.map((node) => node.textContent) };
}

const message = (number, text = `**${number}** \`words\`\n\n- a\n- b`) => [
  { type: "TEXT_MESSAGE_START", messageId: `m${number}` }, { type: "TEXT_MESSAGE_CONTENT", messageId: `m${number}`, delta: text }, { type: "TEXT_MESSAGE_END", messageId: `m${number}` },
];

test("2,000 messages at once take many frames, each short, and none is lost or out of order", async () => {
  const { model, list, said } = listed();
  for (let number = 0; number < 2000; number += 1) message(number).forEach((event) => model.feed(event));
  list.flush();
  const first = said().length;
  assert.ok(first > 0 && first < 2000, `${first}`);
  for (let frames = 0; model.changed.size || said().length < 2000; frames += 1) { assert.ok(frames < 20_000); page.frame(); await pause(); }
  assert.deepEqual(said(), Array.from({ length: 2000 }, (_, number) => `${number} wordsab`));
});

test("what comes while a long message is being built is shown too, and the message to its end", async () => {
  const { model, list, said } = listed();
  for (const event of message(0, TEXTS.paragraphs.repeat(20))) model.feed(event);
  list.flush();
  assert.ok(model.changed.has(model.find("message", "m0")));
  for (const event of message(1)) model.feed(event);
  list.flush();
  assert.equal(said()[1], "1 wordsab");
  for (let frames = 0; model.changed.size; frames += 1) { assert.ok(frames < 20_000); page.frame(); await pause(); }
  assert.equal(said()[0], whole(TEXTS.paragraphs.repeat(20)).textContent);
});
