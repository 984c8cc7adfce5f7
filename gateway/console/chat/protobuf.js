// AG-UI's protobuf wire → events, as JSON has them. Frames: four bytes of length, then one `Event`.

import { EVENTS, MESSAGES } from "./protobuf_shapes.js";

export const PROTOBUF = "application/vnd.ag-ui.event+proto";
const OPERATIONS = ["add", "remove", "replace", "move", "copy", "test"];
const utf8 = new TextDecoder();

/** Batches of frames, one for each read. */
export async function* frames(response) {
  const reader = response.body.getReader(), cut = new Cut();
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const batch = cut.feed(value);
      if (batch.length) yield batch;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

/** Bytes in any cut → whole frames, without their length. */
export class Cut {
  #rest = new Uint8Array(0);

  feed(bytes) {
    const all = new Uint8Array(this.#rest.length + bytes.length);
    all.set(this.#rest);
    all.set(bytes, this.#rest.length);
    const view = new DataView(all.buffer), found = [];
    let from = 0;
    while (from + 4 <= all.length && from + 4 + view.getUint32(from) <= all.length) {
      const size = view.getUint32(from);
      found.push(all.slice(from + 4, from + 4 + size));
      from += 4 + size;
    }
    this.#rest = all.slice(from);
    return found;
  }
}

/** null: an event of a kind that this page does not know. */
export function decode(bytes) {
  const arm = [...fields(bytes)].find(({ number }) => number in EVENTS);
  if (!arm) return null;
  const [type] = EVENTS[arm.number], { base, ...told } = message(arm.bytes, SHAPES.events[arm.number]);
  return reshaped({ type, ...base, ...told });
}

const shape = (described) => new Map(described.split("|").map((field) => {
  const [number, key, kind] = field.split(" ");
  return [Number(number), { key, kind: kind.replace(/[*!]/g, ""), many: kind.includes("*"), always: kind.endsWith("!") }];
}));
const SHAPES = {
  events: Object.fromEntries(Object.entries(EVENTS).map(([number, [, described]]) => [number, shape(described)])),
  ...Object.fromEntries(Object.entries(MESSAGES).map(([name, described]) => [name, shape(described)])),
};

function message(bytes, known) {
  const made = {};
  for (const { key, kind, many, always } of known.values()) if (always) made[key] = many ? [] : kind === "s" ? "" : undefined;
  if (known === SHAPES.Operation) made.op = OPERATIONS[0];
  for (const field of fields(bytes)) {
    const about = known.get(field.number);
    if (!about) continue;
    const value = read(field, about.kind);
    if (about.many) (made[about.key] ??= []).push(value);
    else made[about.key] = value;
  }
  return after(known, made);
}

function read({ bytes, varint }, kind) {
  switch (kind) {
    case "s": return utf8.decode(bytes);
    case "i": return Number(BigInt.asIntN(64, varint));
    case "b": return varint !== 0n;
    case "op": return OPERATIONS[Number(varint)];
    case "v": return anything(bytes);
    case "o": return struct(bytes);
    default: return message(bytes, SHAPES[kind]);
  }
}

// -- where JSON has another shape than the message

function after(known, made) {
  if (known === SHAPES.Part) return oneOf(made, (type, part) => ({ type, ...part }));
  if (known === SHAPES.Source) return oneOf(made, (type, source) => ({ type, ...source }));
  if (known !== SHAPES.Message) return made;
  const { contentParts, activityContent, ...rest } = made;
  if (rest.role === "activity") return { ...rest, content: activityContent ?? {} };
  const parts = ["user", "tool"].includes(rest.role) && rest.content === undefined;
  return parts ? { ...rest, content: contentParts ?? [] } : rest;
}

function oneOf(made, build) {
  const [entry] = Object.entries(made);
  return entry ? build(...entry) : {};
}

function reshaped(event) {
  const { outcome, interrupts, pendingToolCallIds, interruptIds, contentParts, ...rest } = event;
  if (event.type === "TOOL_CALL_RESULT") return { ...rest, content: rest.content ?? contentParts ?? [] };
  if (!outcome) return rest;
  const inside = Object.entries({ interrupts, pendingToolCallIds, interruptIds }).filter(([, value]) => value !== undefined);
  return { ...rest, outcome: { type: outcome, ...Object.fromEntries(inside) } };
}

// -- google.protobuf.Value and Struct

function struct(bytes) {
  const made = {};
  for (const { bytes: entry } of fields(bytes)) {
    let key = "", value = null;
    for (const field of fields(entry)) {
      if (field.number === 1) key = utf8.decode(field.bytes);
      else value = anything(field.bytes);
    }
    Object.defineProperty(made, key, { value, writable: true, enumerable: true, configurable: true });
  }
  return made;
}

function anything(bytes) {
  for (const field of fields(bytes)) {
    switch (field.number) {
      case 1: return null;
      case 2: return new DataView(field.bytes.buffer, field.bytes.byteOffset, 8).getFloat64(0, true);
      case 3: return utf8.decode(field.bytes);
      case 4: return field.varint !== 0n;
      case 5: return struct(field.bytes);
      case 6: return [...fields(field.bytes)].map((one) => anything(one.bytes));
    }
  }
  return null;
}

/** {number, varint} or {number, bytes}. Throws where the bytes end too early. */
function* fields(bytes) {
  let at = 0;
  const varint = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      if (at >= bytes.length) throw new RangeError("a protobuf message ends too early");
      const byte = bytes[at++];
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value;
    }
  };
  const take = (size) => {
    if (at + size > bytes.length) throw new RangeError("a protobuf message ends too early");
    return bytes.subarray(at, (at += size));
  };
  while (at < bytes.length) {
    const tag = Number(varint()), number = tag >>> 3;
    switch (tag & 7) {
      case 0: yield { number, varint: varint() }; break;
      case 1: yield { number, bytes: take(8) }; break;
      case 2: yield { number, bytes: take(Number(varint())) }; break;
      case 5: yield { number, bytes: take(4) }; break;
      default: throw new RangeError("a protobuf field of a kind that AG-UI does not have");
    }
  }
}

export function hex(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join(" ");
}
