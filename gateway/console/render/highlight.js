// Syntax highlighting: source text → [[kind, text], …], where kind is comment, string, number, word (keyword), key, add, del or
// "". Pure: no DOM. One linear pass, which is approximate for every language but never changes the text.

const MAX_CHARS = 60_000;
const KEYWORD_LIST = "abstract and any as assert async await break case catch class const continue def defer delete do elif else end enum except export extends false finally fn for from func function global go if impl implements import in instanceof interface is lambda let local loop match mod module mut namespace new nil none not null or package pass private protected pub public raise readonly return select self static struct super switch then this throw trait true try type typeof undefined union unless use using var void where while with yield None True False SELECT FROM WHERE INSERT INTO UPDATE DELETE CREATE TABLE JOIN ON AND OR NOT NULL AS ORDER BY GROUP LIMIT VALUES SET";
const KEYWORDS = new Set(KEYWORD_LIST.split(" "));
const SHELL = new Set("if then else elif fi for do done while until case esac in function return export local echo cd exit set source".split(" "));

const HASH_COMMENTS = new Set(["py", "python", "sh", "bash", "zsh", "shell", "console", "yaml", "yml", "toml", "rb", "ruby", "make", "makefile",
  "dockerfile", "r", "perl", "ini", "conf"]);
const DASH_COMMENTS = new Set(["sql", "lua", "haskell", "hs"]);
const PROSE = new Set(["", "text", "txt", "plain", "markdown", "md", "log", "csv", "output"]);

export function highlight(text, language) {
  const name = language.toLowerCase();
  if (PROSE.has(name) || text.length > MAX_CHARS) return [["", text]];
  if (name === "diff" || name === "patch") return highlightDiff(text);
  return scanTokens(text, tokenPattern(name), ["sh", "bash", "zsh", "shell", "console"].includes(name) ? SHELL : KEYWORDS);
}

function highlightDiff(text) {
  const kind = (line) => (line.startsWith("+") ? "add" : line.startsWith("-") ? "del" : line.startsWith("@@") ? "comment" : "");
  return text.split(/(?<=\n)/).map((line) => [kind(line), line]);
}

/** The alternatives start with different characters and never backtrack, so each character is read once. */
function tokenPattern(name) {
  const comment = HASH_COMMENTS.has(name) ? "#[^\\n]*"
    : DASH_COMMENTS.has(name) ? "--[^\\n]*"
      : ["html", "xml", "svg", "vue"].includes(name) ? "<!--"
        : name === "json" ? "(?!)" : "//[^\\n]*|/\\*(?:[^*]|\\*(?!/))*(?:\\*/)?";
  const string = ["\"(?:[^\"\\\\\\n]|\\\\.)*\"?", HASH_COMMENTS.has(name) || name !== "rust" ? "'(?:[^'\\\\\\n]|\\\\.)*'?" : "(?!)",
    "`(?:[^`\\\\]|\\\\.)*`?"].join("|");
  return new RegExp(`(?<comment>${comment})|(?<string>${string})|(?<number>\\b\\d[\\w.]*)|(?<word>[A-Za-z_$][\\w$-]*)`, "gs");
}

function scanTokens(text, pattern, keywords) {
  const tokens = [];
  let at = 0;
  const add = (kind, part) => { if (part) tokens.push([kind, part]); };
  for (const match of text.matchAll(pattern)) {
    const kind = tokenKind(match, text, keywords);
    if (!kind) continue;
    add("", text.slice(at, match.index));
    add(kind, match[0]);
    at = match.index + match[0].length;
  }
  add("", text.slice(at));
  return tokens;
}

function tokenKind({ 0: token, index, groups }, text, keywords) {
  if (groups.comment) return "comment";
  if (groups.number) return "number";
  if (groups.string) return /^\s{0,4}:(?!:)/.test(text.slice(index + token.length, index + token.length + 6)) ? "key" : "string";
  return keywords.has(token) ? "word" : "";
}
