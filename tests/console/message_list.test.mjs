// Incremental rendering: a text and a list of items are built within a time budget.
import assert from "node:assert/strict";
import { test } from "node:test";

import { fakePage, toMarkup } from "./page.mjs";
import { MessageList } from "../../gateway/console/chat/message_list.js";
import { Model } from "../../gateway/console/chat/model.js";
import { Markdown } from "../../gateway/console/render/markdown.js";

const page = fakePage();
const pause = () => new Promise((resolve) => setTimeout(resolve, 1));
const noTime = () => false;

const TEXTS = {
  paragraphs: Array.from({ length: 900 }, (_, at) => `word ${at} **bold** \`code\``).join("\n\n"),
  list: Array.from({ length: 4000 }, (_, at) => `- item ${at} *em*`).join("\n"),
  tasks: Array.from({ length: 400 }, (_, at) => `${at + 1}. [x] item ${at}\n\n   - inner`).join("\n"),
  table: `| a | b |\n|---|:-:|\n${Array.from({ length: 4000 }, (_, at) => `| ${at} | **x** |`).join("\n")}\n\nafter`,
  code: `\`\`\`python\n${Array.from({ length: 3000 }, (_, at) => `x${at} = "${at}"  # why`).join("\n")}\n\`\`\`\nafter`,
  line: "wörd 😀 ".repeat(4000),
  quote: Array.from({ length: 1500 }, (_, at) => `> ${at}`).join("\n>\n"),
};

function renderWhole(text) {
  const markdown = new Markdown();
  assert.equal(markdown.update(text), false);
  return markdown.node;
}

for (const [name, text] of Object.entries(TEXTS)) {
  test(`a long text is rendered in steps and completely: ${name}`, () => {
    const markdown = new Markdown();
    let steps = 1;
    for (; markdown.update(text, false, noTime); steps += 1) assert.ok(markdown.node.textContent.length < steps * 8000 + 8000);
    assert.ok(steps > 3, `${steps}`);
    assert.equal(toMarkup(markdown.node), toMarkup(renderWhole(text)));
  });

  test(`so is a text that grows faster than it is rendered: ${name}`, () => {
    const markdown = new Markdown(), other = new Markdown();
    for (let at = 0; at < text.length; at += 7001) markdown.update(text.slice(0, at), true, noTime);
    while (markdown.update(text, false, noTime));
    for (let at = 0; at < text.length; at += 997) other.update(text.slice(0, at), true);
    other.update(text, false);
    assert.equal(toMarkup(markdown.node), toMarkup(other.node));
  });
}

test("final blocks keep their nodes", () => {
  const markdown = new Markdown();
  markdown.update("a\n\n- b\n- c\n", true);
  const [first, list] = markdown.node.childNodes, item = list.firstChild;
  markdown.update(`a\n\n- b\n- c\n${"- more\n".repeat(2000)}`, true);
  assert.deepEqual([markdown.node.firstChild === first, markdown.node.lastChild === list, list.firstChild === item], [true, true, true]);
  assert.equal(list.childNodes.length, 2002);
});

test("a different text starts over, and the growing block is marked", () => {
  const markdown = new Markdown();
  markdown.update(TEXTS.list, true, noTime);
  markdown.update("*other*", true);
  assert.equal(toMarkup(markdown.node), "<div md><p md-tail><em>other</em></p></div>");
  markdown.update("*other*", false);
  assert.equal(toMarkup(markdown.node), "<div md><p><em>other</em></p></div>");
});

test("a complete text with too many blocks has its rest collapsed", () => {
  const { childNodes } = renderWhole("a\n\n".repeat(30_000));
  assert.ok(childNodes.flatMap((node) => [node, ...node.childNodes]).length < 12_000);
  assert.match(childNodes.at(-1).textContent, /^\d+ more characters$/);
});

function createList() {
  const model = new Model(), list = new MessageList(model, { session: { capabilities: { value: {} }, agent: "a", model } });
  return { model, list, texts: () => list.container.childNodes.map((node) => node.textContent) };
}

const message = (number, text = `**${number}** \`words\`\n\n- a\n- b`) => [
  { type: "TEXT_MESSAGE_START", messageId: `m${number}` }, { type: "TEXT_MESSAGE_CONTENT", messageId: `m${number}`, delta: text },
    { type: "TEXT_MESSAGE_END", messageId: `m${number}` },
];

test("2,000 messages at once are built in many short frames, complete and in order", async () => {
  const { model, list, texts } = createList();
  for (let number = 0; number < 2000; number += 1) message(number).forEach((event) => model.feed(event));
  list.flush();
  const first = texts().length;
  assert.ok(first > 0 && first < 2000, `${first}`);
  for (let frames = 0; model.changed.size || texts().length < 2000; frames += 1) { assert.ok(frames < 20_000); page.frame(); await pause(); }
  assert.deepEqual(texts(), Array.from({ length: 2000 }, (_, number) => `${number} wordsab`));
});

test("messages that arrive while a long one is built are shown too, and the long one completely", async () => {
  const { model, list, texts } = createList();
  for (const event of message(0, TEXTS.paragraphs.repeat(20))) model.feed(event);
  list.flush();
  assert.ok(model.changed.has(model.find("message", "m0")));
  for (const event of message(1)) model.feed(event);
  list.flush();
  assert.equal(texts()[1], "1 wordsab");
  for (let frames = 0; model.changed.size; frames += 1) { assert.ok(frames < 20_000); page.frame(); await pause(); }
  assert.equal(texts()[0], renderWhole(TEXTS.paragraphs.repeat(20)).textContent);
});
