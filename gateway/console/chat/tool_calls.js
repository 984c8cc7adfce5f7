// Reads a tool call: its status, its changes to files, and a short form of its arguments. Pure: no DOM, no network.

const MAX_SUMMARY_CHARS = 200;

const object = (value) => (typeof value === "object" && value !== null && !Array.isArray(value) ? value : {});

/** The arguments as a value; undefined if they are no JSON. */
export function parseArguments(args) {
  try { return JSON.parse(args); } catch { return undefined; }
}

/** "writing" | "running" | "waiting" | "expired" | "denied" | "done" | "failed" | "cancelled" | "unknown" */
export function callStatus(call, model) {
  const isAsked = (interrupts = []) => interrupts.some(({ toolCallId }) => toolCallId === call.id);
  if (call.result === undefined) {
    if (call.open) return "writing";
    if (model.live) return "running";
    if (isAsked(model.interrupts) || model.pending.includes(call.id)) return "waiting";
  }
  if (model.decisions?.get(call.id) === "denied") return "denied"; // whatever the agent makes of it: some report a failure, some a success
  if (call.result === undefined) return isAsked(model.expired) ? "expired" : "unknown";
  const vendorData = Object.values(call.meta).map(object), status = vendorData.map((data) => data.status).find(Boolean);
  if (call.error || vendorData.some((data) => data.isError === true || data.success === false)
    || ["failed", "declined", "error"].includes(status)) return "failed";
  if (vendorData.some((data) => typeof data.exitCode === "number" && data.exitCode !== 0)) return "failed";
  return ["cancelled", "unknown"].includes(status) ? status : "done";
}

/** [{path, oldText, newText}] or [{patch}], from the driver's metadata or from the arguments of the edit. */
export function readDiffs({ meta, args, open }) {
  const vendorData = Object.values(meta).map(object);
  const diffs = vendorData.flatMap((data) => (Array.isArray(data.diffs) ? data.diffs : [])).map(object).map(fromAcp).filter(Boolean);
  if (diffs.length) return diffs;
  const patch = vendorData.flatMap((data) => [data.diff, data.detail, data.patch]).find((text) => typeof text === "string" && isPatch(text));
  if (patch) return [{ patch }];
  return open ? [] : fromArguments(object(parseArguments(args)));
}

function fromAcp(diff) {
  const patch = object(diff.patch).text ?? diff.patch;
  if (typeof patch === "string") return { patch };
  return typeof diff.newText === "string" ? { path: String(diff.path ?? ""), oldText: typeof diff.oldText === "string" ? diff.oldText : undefined,
    newText: diff.newText } : null;
}

const isPatch = (text) => /^(diff --git |--- |Index: |@@ )/m.test(text.slice(0, 2000));

function fromArguments(args) {
  const path = [args.file_path, args.path, args.filePath, args.filename].find((name) => typeof name === "string");
  const pairs = [["old_string", "new_string"], ["oldString", "newString"], ["oldText", "newText"], ["old_str", "new_str"]];
  const pair = pairs.find(([before, after]) => typeof args[before] === "string" && typeof args[after] === "string");
  return path && pair ? [{ path, oldText: args[pair[0]], newText: args[pair[1]] }] : [];
}

/** The arguments in short: `path=notes.txt, depth=2`. */
export function summarizeArguments(args) {
  const value = parseArguments(args);
  if (typeof value !== "object" || value === null) return args.slice(0, MAX_SUMMARY_CHARS);
  const describe = ([name, member]) => `${name}=${typeof member === "string" ? member : JSON.stringify(member)}`;
  return Object.entries(value).map(describe).join(", ").slice(0, MAX_SUMMARY_CHARS);
}
