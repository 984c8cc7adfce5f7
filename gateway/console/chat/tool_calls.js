// A tool call, read for people: how it stands, what it changes, what it is about in a few words. Pure.

const object = (value) => (typeof value === "object" && value !== null && !Array.isArray(value) ? value : {});

export function parsed(args) {
  try { return JSON.parse(args); } catch { return undefined; }
}

/** "writing" | "running" | "waiting" | "done" | "failed" | "cancelled" | "unknown" */
export function statusOf(call, model) {
  if (call.result === undefined) {
    if (call.open) return "writing";
    if (model.live) return "running";
    return model.interrupts.some(({ toolCallId }) => toolCallId === call.id) || model.pending.includes(call.id) ? "waiting" : "unknown";
  }
  const told = Object.values(call.meta).map(object), status = told.map((one) => one.status).find(Boolean);
  if (call.error || told.some((one) => one.isError === true || one.success === false) || ["failed", "declined", "error"].includes(status)) return "failed";
  if (told.some((one) => typeof one.exitCode === "number" && one.exitCode !== 0)) return "failed";
  return ["cancelled", "unknown"].includes(status) ? status : "done";
}

/** [{path, oldText, newText}] and [{patch}], from wherever the agent told them: the drivers' metadata, or the arguments
 *  of the edit itself. */
export function diffsOf({ meta, args, open }) {
  const told = Object.values(meta).map(object);
  const whole = told.flatMap((one) => (Array.isArray(one.diffs) ? one.diffs : [])).map(object).map(fromAcp).filter(Boolean);
  if (whole.length) return whole;
  const patch = told.flatMap((one) => [one.diff, one.detail, one.patch]).find((one) => typeof one === "string" && isPatch(one));
  if (patch) return [{ patch }];
  return open ? [] : fromArguments(object(parsed(args)));
}

function fromAcp(diff) {
  const patch = object(diff.patch).text ?? diff.patch;
  if (typeof patch === "string") return { patch };
  return typeof diff.newText === "string" ? { path: String(diff.path ?? ""), oldText: typeof diff.oldText === "string" ? diff.oldText : undefined, newText: diff.newText } : null;
}

const isPatch = (words) => /^(diff --git |--- |Index: |@@ )/m.test(words.slice(0, 2000));

function fromArguments(given) {
  const path = [given.file_path, given.path, given.filePath, given.filename].find((one) => typeof one === "string");
  const pairs = [["old_string", "new_string"], ["oldString", "newString"], ["oldText", "newText"], ["old_str", "new_str"]];
  const pair = pairs.find(([before, now]) => typeof given[before] === "string" && typeof given[now] === "string");
  return path && pair ? [{ path, oldText: given[pair[0]], newText: given[pair[1]] }] : [];
}

/** `path=notes.txt, depth=2` */
export function inShort(args) {
  const given = parsed(args);
  if (typeof given !== "object" || given === null) return args.slice(0, 200);
  return Object.entries(given).map(([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`).join(", ").slice(0, 200);
}
