// Source text → [[kind, text], …]: comment, string, number, word (keywords), key, add, del, or "" for the rest. Pure.
// A light hand on purpose: one linear pass that no language gets quite right and no reader is misled by.

const LONGEST = 60_000;
const WORDS = "abstract and any as assert async await break case catch class const continue def defer delete do elif else end enum except export extends false finally fn for from func function global go if impl implements import in instanceof interface is lambda let local loop match mod module mut namespace new nil none not null or package pass private protected pub public raise readonly return select self static struct super switch then this throw trait true try type typeof undefined union unless use using var void where while with yield None True False SELECT FROM WHERE INSERT INTO UPDATE DELETE CREATE TABLE JOIN ON AND OR NOT NULL AS ORDER BY GROUP LIMIT VALUES SET";
const KEYWORDS = new Set(WORDS.split(" "));
const SHELL = new Set("if then else elif fi for do done while until case esac in function return export local echo cd exit set source".split(" "));

const HASH = new Set(["py", "python", "sh", "bash", "zsh", "shell", "console", "yaml", "yml", "toml", "rb", "ruby", "make", "makefile", "dockerfile", "r", "perl", "ini", "conf"]);
const DASH = new Set(["sql", "lua", "haskell", "hs"]);
const PROSE = new Set(["", "text", "txt", "plain", "markdown", "md", "log", "csv", "output"]);

export function tint(text, language) {
  const name = language.toLowerCase();
  if (PROSE.has(name) || text.length > LONGEST) return [["", text]];
  if (name === "diff" || name === "patch") return byLine(text);
  return scan(text, pattern(name), ["sh", "bash", "zsh", "shell", "console"].includes(name) ? SHELL : KEYWORDS);
}

function byLine(text) {
  const kind = (line) => (line.startsWith("+") ? "add" : line.startsWith("-") ? "del" : line.startsWith("@@") ? "comment" : "");
  return text.split(/(?<=\n)/).map((line) => [kind(line), line]);
}

/** Alternatives that begin with different signs and never look back: each character is read once. */
function pattern(name) {
  const comment = HASH.has(name) ? "#[^\\n]*" : DASH.has(name) ? "--[^\\n]*" : ["html", "xml", "svg", "vue"].includes(name) ? "<!--" : name === "json" ? "(?!)" : "//[^\\n]*|/\\*(?:[^*]|\\*(?!/))*(?:\\*/)?";
  const string = ["\"(?:[^\"\\\\\\n]|\\\\.)*\"?", HASH.has(name) || name !== "rust" ? "'(?:[^'\\\\\\n]|\\\\.)*'?" : "(?!)", "`(?:[^`\\\\]|\\\\.)*`?"].join("|");
  return new RegExp(`(?<comment>${comment})|(?<string>${string})|(?<number>\\b\\d[\\w.]*)|(?<word>[A-Za-z_$][\\w$-]*)`, "gs");
}

function scan(text, signs, keywords) {
  const found = [];
  let at = 0;
  const add = (kind, part) => { if (part) found.push([kind, part]); };
  for (const match of text.matchAll(signs)) {
    const kind = kindOf(match, text, keywords);
    if (!kind) continue;
    add("", text.slice(at, match.index));
    add(kind, match[0]);
    at = match.index + match[0].length;
  }
  add("", text.slice(at));
  return found;
}

function kindOf({ 0: said, index, groups }, text, keywords) {
  if (groups.comment) return "comment";
  if (groups.number) return "number";
  if (groups.string) return /^\s{0,4}:(?!:)/.test(text.slice(index + said.length, index + said.length + 6)) ? "key" : "string";
  return keywords.has(said) ? "word" : "";
}
