// Inline Markdown, also hostile input.
import assert from "node:assert/strict";
import { test } from "node:test";

import { parseInline } from "../../gateway/console/render/inline.js";
import { safeImage, safeLink, safeMedia } from "../../gateway/console/render/url_policy.js";

const SIZE = 1 << 16;
const TIME_LIMIT_MS = 20_000; // linear time takes some hundred ms, quadratic time many minutes

/** The tokens as markup: <b>…</b> for what is opened and closed. */
function toMarkup(text, streaming) {
  const tokenMarkup = (token) => {
    if (token.text !== undefined) return token.text;
    if (token.code !== undefined) return `<code>${token.code}</code>`;
    if (token.br) return "<br>";
    if (token.image) return `<img ${token.image.src ?? token.image.href ?? "-"} ${token.image.alt}>`;
    if (token.close) return `</${token.close}>`;
    return token.open === "link" ? `<link ${token.href ?? "-"}>` : `<${token.open}>`;
  };
  return parseInline(text, streaming).map(tokenMarkup).join("");
}

test("emphasis, code, links and breaks are parsed", () => {
  for (const [text, expected] of [
    ["**a** *b* ***c*** ~~d~~ `e`", "<strong>a</strong> <em>b</em> <em><strong>c</strong></em> <del>d</del> <code>e</code>"],
    ["snake_case_word, 2 * 3 * 4, a*b*c", "snake_case_word, 2 * 3 * 4, a<em>b</em>c"],
    ["``a ` b`` and `  ` and `unclosed", "<code>a ` b</code> and <code>  </code> and `unclosed"],
    ["[a *b*](https://x.org/y_(z) \"t\")", "<link https://x.org/y_(z)>a <em>b</em></link>"],
    ["[https://a.b](https://c.d)", "<link https://c.d/>https://a.b</link>"],
    ["see https://x.org/a(b), or www.x.org.", "see <link https://x.org/a(b)>https://x.org/a(b)</link>, or <link https://www.x.org/>www.x.org</link>."],
    ["<https://k.org> <me@a.org>", "<link https://k.org/>https://k.org</link> <link mailto:me@a.org>me@a.org</link>"],
    ["a  \nb\\\nc<br>d \\*e\\* &lt;&#65;&#x42;&nope;", "a<br>b<br>c<br>d *e* <AB&nope;"],
    ["![p](data:image/png;base64,AA==) ![q](https://x.org/q.png)", "<img data:image/png;base64,AA== p> <img https://x.org/q.png q>"],
    ["[[in](https://a.b)](https://c.d)", "[<link https://a.b/>in</link>](<link https://c.d/>https://c.d</link>)"],
  ]) assert.equal(toMarkup(text), expected);
});

test("raw HTML is text", () => {
  for (const text of ["<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<svg/onload=alert(1)>", "<a href='javascript:x'>y</a>",
    "<iframe srcdoc='<b>'>"]) {
    assert.deepEqual(parseInline(text), [{ text }]);
  }
});

const SCRIPTS = [
  "javascript:alert(1)", "JAVASCRIPT:alert(1)", "jAvAsCrIpT:alert`1`", "java\tscript:alert(1)", "java\nscript:alert(1)", "java\u0000script:alert(1)",
    "\u0001javascript:alert(1)", " javascript:alert(1)",
  "javascript&colon;alert(1)", "javascript&#58;alert(1)", "&#106;avascript:alert(1)", "&#x6A;avascript&#x3A;alert(1)", "java&#10;script:alert(1)",
    "\\javascript:alert(1)",
  "vbscript:x", "data:text/html,<script>alert(1)</script>", "data:text/html;base64,PHN2Zz4=", "data:image/svg+xml,<svg onload=alert(1)>",
    "data:image/svg+xml;base64,AAAA", "DATA:image/png,x\"onerror=", "file:///etc/passwd", "blob:https://x/y", "about:blank", "view-source:https://x",
    "ftp://x.org", "//x.org", "x.html", "#x", "",
];

test("no address but http, https and mailto becomes a link", () => {
  for (const address of SCRIPTS) {
    for (const text of [`[x](${address})`, `[x](<${address}>)`, `<${address}>`, `[x](${address} "title")`, `![x](${address})`,
      `[![x](${address})](${address})`, address, `[${address}](${address})`]) {
      for (const token of [...parseInline(text), ...parseInline(text, true)]) {
        const href = token.href ?? token.image?.href ?? null;
        assert.ok(href === null || /^(https?:\/\/|mailto:)/.test(href), `${text} gave ${href}`);
        assert.ok(!token.image?.src || /^data:image\/(png|jpeg|gif|webp)[;,]/i.test(token.image.src), `${text} gave ${token.image?.src}`);
      }
    }
  }
});

test("links, images and media have allow lists", () => {
  assert.deepEqual(["https://a.b", "http://a.b", "mailto:a@b.c"].map((text) => safeLink(text) !== null), [true, true, true]);
  for (const address of [...SCRIPTS, null, {}, "https://", `https://a.b/${"x".repeat(5000)}`]) assert.equal(safeLink(address), null);
  assert.deepEqual(["png", "jpeg", "gif", "webp", "svg+xml", "x-icon"].map((kind) => safeImage(`data:image/${kind};base64,AA`) !== null),
    [true, true, true, true, false, false]);
  assert.equal(safeImage("https://x.org/a.png"), null);
  assert.deepEqual([safeMedia("data:audio/wav;base64,AA", "audio") !== null, safeMedia("data:text/html,AA", "audio"),
    safeMedia("https://x.org/a.wav", "audio")], [true, null, null]);
});

test("every opened token is closed, in order, for any text", () => {
  const signs = ["*", "**", "_", "~~", "`", "[", "](", ")", "![", "<", ">", "a", " ", "\\", "\n", "https://x.y", "&amp;"];
  let seed = 7;
  const nextRandom = (limit) => (seed = (seed * 1103515245 + 12345) % 2147483648) % limit;
  for (let round = 0; round < 4000; round += 1) {
    const text = Array.from({ length: nextRandom(24) }, () => signs[nextRandom(signs.length)]).join(""), stack = [];
    for (const token of parseInline(text, round % 2 === 1)) {
      if (token.open) stack.push(token.open);
      if (token.close) assert.equal(stack.pop(), token.close, JSON.stringify(text));
    }
    assert.deepEqual(stack, [], JSON.stringify(text));
  }
});

test("unfinished text looks as it will when it is finished", () => {
  for (const [text, expected] of [
    ["say **bo", "say <strong>bo</strong>"], ["say **bold*", "say <strong>bold</strong>"], ["say **", "say "],
      ["run `ls -", "run <code>ls -</code>"], ["run `", "run "],
    ["see [the docs](https://exam", "see <link ->the docs</link>"], ["![pic](data:image/png;base64,AAAA", "<img - pic>"], ["a [0", "a [0"],
  ]) assert.equal(toMarkup(text, true), expected);
  assert.equal(toMarkup("say **bo"), "say **bo");
});

const HOSTILE = ["[", "]", "*", "_", "`", "<", "&", "![", "[a](", "[a](b", "[a](<b", "[a](b \"", "**a", "*a_b", "http://", "http://%", "www.",
  "`a``b", "[](", "![a](b)", "[a](b)", "~~a ", "*a **b ", "\\", "<a", "a **", "[a](b) ![", "&#1;", "a\n", "!", "(", "[x](java"];

test("parsing takes linear time", () => {
  const texts = [...HOSTILE.map((part) => part.repeat(SIZE / part.length)), "*a ".repeat(20_000) + "a* ".repeat(20_000),
    "[".repeat(30_000) + "](a)".repeat(20_000), "[a](".repeat(20_000) + ")", "![".repeat(20_000) + "[a](b)".repeat(10_000),
    "*".repeat(SIZE) + "a" + "*".repeat(SIZE)];
  const start = performance.now();
  for (const text of texts) { parseInline(text); parseInline(text, true); }
  assert.ok(performance.now() - start < TIME_LIMIT_MS, `${performance.now() - start} ms`);
});
