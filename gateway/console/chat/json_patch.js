// JSON Patch (RFC 6902) on values that are never changed in place: a patch that fails leaves nothing behind.

/** The value after all operations; undefined where one of them does not fit (AG-UI: then the whole patch is ignored). */
export function patched(value, operations) {
  if (!Array.isArray(operations)) return undefined;
  try {
    return operations.reduce(apply, value);
  } catch (problem) {
    if (problem instanceof Misfit) return undefined;
    throw problem;
  }
}

class Misfit extends Error {}

function apply(value, operation) {
  const path = pointer(operation?.path);
  switch (operation.op) {
    case "add": return edited(value, path, (place, key) => inserted(place, key, operation.value), operation.value);
    case "replace": return edited(value, path, (place, key) => put(place, key, operation.value), operation.value);
    case "remove": return edited(value, path, removed, undefined);
    case "copy": return apply(value, { op: "add", path: operation.path, value: found(value, pointer(operation.from)) });
    case "move": {
      const from = pointer(operation.from), moved = found(value, from);
      return apply(apply(value, { op: "remove", path: operation.from }), { op: "add", path: operation.path, value: moved });
    }
    case "test":
      if (JSON.stringify(found(value, path)) !== JSON.stringify(operation.value)) throw new Misfit();
      return value;
    default: throw new Misfit();
  }
}

function pointer(text) {
  if (text === "") return [];
  if (typeof text !== "string" || !text.startsWith("/")) throw new Misfit();
  return text.slice(1).split("/").map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
}

function found(value, path) {
  for (const key of path) {
    if (!has(value, key)) throw new Misfit();
    value = value[key];
  }
  return value;
}

const has = (value, key) => (Array.isArray(value) ? isIndex(key) && Number(key) < value.length : isObject(value) && Object.hasOwn(value, key));
const isObject = (value) => typeof value === "object" && value !== null;
const isIndex = (key) => /^(0|[1-9][0-9]*)$/.test(key);

/** A copy along the path only; the rest is shared. */
function edited(value, path, edit, whole) {
  if (!path.length) return whole;
  const [key, ...rest] = path;
  if (!isObject(value)) throw new Misfit();
  if (!rest.length) return edit(value, key);
  if (!has(value, key)) throw new Misfit();
  return put(value, key, edited(value[key], rest, edit, whole));
}

function put(place, key, value) {
  if (!has(place, key)) throw new Misfit();
  return set(place, key, value);
}

function set(place, key, value) {
  if (Array.isArray(place)) return place.with ? place.with(Number(key), value) : Object.assign([...place], { [key]: value });
  // Not by `{...place, [key]: value}` alone: `__proto__` must become a key like any other.
  const copy = { ...place };
  Object.defineProperty(copy, key, { value, writable: true, enumerable: true, configurable: true });
  return copy;
}

function inserted(place, key, value) {
  if (!Array.isArray(place)) return set(place, key, value);
  const index = key === "-" ? place.length : Number(key);
  if (key !== "-" && (!isIndex(key) || index > place.length)) throw new Misfit();
  return [...place.slice(0, index), value, ...place.slice(index)];
}

function removed(place, key) {
  if (!has(place, key)) throw new Misfit();
  if (Array.isArray(place)) return place.filter((_, index) => index !== Number(key));
  const { [key]: _, ...rest } = place;
  return rest;
}
