// JSON Patch (RFC 6902) on immutable values: a patch that fails changes nothing.

/** The value after all operations; undefined if one of them does not apply. AG-UI clients then ignore the whole patch. */
export function applyPatch(value, operations) {
  if (!Array.isArray(operations)) return undefined;
  try {
    return operations.reduce(apply, value);
  } catch (problem) {
    if (problem instanceof PatchError) return undefined;
    throw problem;
  }
}

class PatchError extends Error {}

function apply(value, operation) {
  const path = parsePointer(operation?.path);
  switch (operation.op) {
    case "add": return editAt(value, path, (container, key) => insertAt(container, key, operation.value), operation.value);
    case "replace": return editAt(value, path, (container, key) => replaceAt(container, key, operation.value), operation.value);
    case "remove": return editAt(value, path, removeAt, undefined);
    case "copy": return apply(value, { op: "add", path: operation.path, value: valueAt(value, parsePointer(operation.from)) });
    case "move": {
      const from = parsePointer(operation.from), moved = valueAt(value, from);
      return apply(apply(value, { op: "remove", path: operation.from }), { op: "add", path: operation.path, value: moved });
    }
    case "test":
      if (JSON.stringify(valueAt(value, path)) !== JSON.stringify(operation.value)) throw new PatchError();
      return value;
    default: throw new PatchError();
  }
}

function parsePointer(text) {
  if (text === "") return [];
  if (typeof text !== "string" || !text.startsWith("/")) throw new PatchError();
  return text.slice(1).split("/").map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
}

function valueAt(value, path) {
  for (const key of path) {
    if (!has(value, key)) throw new PatchError();
    value = value[key];
  }
  return value;
}

const has = (value, key) => (Array.isArray(value) ? isIndex(key) && Number(key) < value.length : isObject(value) && Object.hasOwn(value, key));
const isObject = (value) => typeof value === "object" && value !== null;
const isIndex = (key) => /^(0|[1-9][0-9]*)$/.test(key);

/** Copies only along the path; everything else is shared. */
function editAt(value, path, edit, whole) {
  if (!path.length) return whole;
  const [key, ...rest] = path;
  if (!isObject(value)) throw new PatchError();
  if (!rest.length) return edit(value, key);
  if (!has(value, key)) throw new PatchError();
  return replaceAt(value, key, editAt(value[key], rest, edit, whole));
}

function replaceAt(container, key, value) {
  if (!has(container, key)) throw new PatchError();
  return copyWith(container, key, value);
}

function copyWith(container, key, value) {
  if (Array.isArray(container)) return container.with ? container.with(Number(key), value) : Object.assign([...container], { [key]: value });
  // defineProperty: `__proto__` must become a key like any other.
  const copy = { ...container };
  Object.defineProperty(copy, key, { value, writable: true, enumerable: true, configurable: true });
  return copy;
}

function insertAt(container, key, value) {
  if (!Array.isArray(container)) return copyWith(container, key, value);
  const index = key === "-" ? container.length : Number(key);
  if (key !== "-" && (!isIndex(key) || index > container.length)) throw new PatchError();
  return [...container.slice(0, index), value, ...container.slice(index)];
}

function removeAt(container, key) {
  if (!has(container, key)) throw new PatchError();
  if (Array.isArray(container)) return container.filter((_, index) => index !== Number(key));
  const { [key]: _, ...rest } = container;
  return rest;
}
