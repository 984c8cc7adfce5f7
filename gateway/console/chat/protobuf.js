// Decodes AG-UI's protobuf format into events in their JSON shape. A frame is four bytes of length, then one `Event` message.

import { EVENTS, MESSAGES } from "./protobuf_shapes.js";

export const PROTOBUF = "application/vnd.ag-ui.event+proto";
const OPERATIONS = ["add", "remove", "replace", "move", "copy", "test"];
const utf8 = new TextDecoder();

/** Yields one batch of frames for each read of the response. */
export async function* readProtobufFrames(response) {
  const reader = response.body.getReader(), splitter = new FrameSplitter();
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const batch = splitter.feed(value);
      if (batch.length) yield batch;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

/** Splits bytes, received in arbitrary pieces, into complete frames without their length. */
export class FrameSplitter {
  #buffer = new Uint8Array(0);

  feed(bytes) {
    const all = new Uint8Array(this.#buffer.length + bytes.length);
    all.set(this.#buffer);
    all.set(bytes, this.#buffer.length);
    const view = new DataView(all.buffer), frames = [];
    let from = 0;
    while (from + 4 <= all.length && from + 4 + view.getUint32(from) <= all.length) {
      const size = view.getUint32(from);
      frames.push(all.slice(from + 4, from + 4 + size));
      from += 4 + size;
    }
    this.#buffer = all.slice(from);
    return frames;
  }
}

/** The event in a frame; null for an unknown type. */
export function decodeEvent(bytes) {
  const arm = [...readFields(bytes)].find(({ number }) => number in EVENTS);
  if (!arm) return null;
  const [type] = EVENTS[arm.number], { base, ...fieldValues } = decodeMessage(arm.bytes, SHAPES.events[arm.number]);
  return reshapeEvent({ type, ...base, ...fieldValues });
}

const parseShape = (description) => new Map(description.split("|").map((field) => {
  const [number, key, kind] = field.split(" ");
  return [Number(number), { key, kind: kind.replace(/[*!]/g, ""), many: kind.includes("*"), always: kind.endsWith("!") }];
}));
const SHAPES = {
  events: Object.fromEntries(Object.entries(EVENTS).map(([number, [, description]]) => [number, parseShape(description)])),
  ...Object.fromEntries(Object.entries(MESSAGES).map(([name, description]) => [name, parseShape(description)])),
};

function decodeMessage(bytes, shape) {
  const result = {};
  for (const { key, kind, many, always } of shape.values()) if (always) result[key] = many ? [] : kind === "s" ? "" : undefined;
  if (shape === SHAPES.Operation) result.op = OPERATIONS[0];
  for (const field of readFields(bytes)) {
    const fieldShape = shape.get(field.number);
    if (!fieldShape) continue;
    const value = decodeField(field, fieldShape.kind);
    if (fieldShape.many) (result[fieldShape.key] ??= []).push(value);
    else result[fieldShape.key] = value;
  }
  return reshapeMessage(shape, result);
}

function decodeField({ bytes, varint }, kind) {
  switch (kind) {
    case "s": return utf8.decode(bytes);
    case "i": return Number(BigInt.asIntN(64, varint));
    case "b": return varint !== 0n;
    case "op": return OPERATIONS[Number(varint)];
    case "v": return decodeValue(bytes);
    case "o": return decodeStruct(bytes);
    default: return decodeMessage(bytes, SHAPES[kind]);
  }
}

// -- where the JSON shape differs from the message

function reshapeMessage(shape, result) {
  if (shape === SHAPES.Part) return unwrapOneOf(result, (type, part) => ({ type, ...part }));
  if (shape === SHAPES.Source) return unwrapOneOf(result, (type, source) => ({ type, ...source }));
  if (shape !== SHAPES.Message) return result;
  const { contentParts, activityContent, ...rest } = result;
  if (rest.role === "activity") return { ...rest, content: activityContent ?? {} };
  const hasParts = ["user", "tool"].includes(rest.role) && rest.content === undefined;
  return hasParts ? { ...rest, content: contentParts ?? [] } : rest;
}

function unwrapOneOf(result, build) {
  const [entry] = Object.entries(result);
  return entry ? build(...entry) : {};
}

function reshapeEvent(event) {
  const { outcome, interrupts, pendingToolCallIds, interruptIds, contentParts, ...rest } = event;
  if (event.type === "TOOL_CALL_RESULT") return { ...rest, content: rest.content ?? contentParts ?? [] };
  if (!outcome) return rest;
  const members = Object.entries({ interrupts, pendingToolCallIds, interruptIds }).filter(([, value]) => value !== undefined);
  return { ...rest, outcome: { type: outcome, ...Object.fromEntries(members) } };
}

// -- google.protobuf.Value and Struct

function decodeStruct(bytes) {
  const result = {};
  for (const { bytes: entry } of readFields(bytes)) {
    let key = "", value = null;
    for (const field of readFields(entry)) {
      if (field.number === 1) key = utf8.decode(field.bytes);
      else value = decodeValue(field.bytes);
    }
    Object.defineProperty(result, key, { value, writable: true, enumerable: true, configurable: true });
  }
  return result;
}

function decodeValue(bytes) {
  for (const field of readFields(bytes)) {
    switch (field.number) {
      case 1: return null;
      case 2: return new DataView(field.bytes.buffer, field.bytes.byteOffset, 8).getFloat64(0, true);
      case 3: return utf8.decode(field.bytes);
      case 4: return field.varint !== 0n;
      case 5: return decodeStruct(field.bytes);
      case 6: return [...readFields(field.bytes)].map((item) => decodeValue(item.bytes));
    }
  }
  return null;
}

/** Yields {number, varint} or {number, bytes}. Throws if the bytes end too early. */
function* readFields(bytes) {
  let at = 0;
  const readVarint = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      if (at >= bytes.length) throw new RangeError("the protobuf message ends too early");
      const byte = bytes[at++];
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value;
    }
  };
  const readBytes = (size) => {
    if (at + size > bytes.length) throw new RangeError("the protobuf message ends too early");
    return bytes.subarray(at, (at += size));
  };
  while (at < bytes.length) {
    const tag = Number(readVarint()), number = tag >>> 3;
    switch (tag & 7) {
      case 0: yield { number, varint: readVarint() }; break;
      case 1: yield { number, bytes: readBytes(8) }; break;
      case 2: yield { number, bytes: readBytes(Number(readVarint())) }; break;
      case 5: yield { number, bytes: readBytes(4) }; break;
      default: throw new RangeError("unknown protobuf wire type");
    }
  }
}

export function toHex(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join(" ");
}
