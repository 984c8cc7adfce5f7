// A value that others follow. Listeners are told of changes, once per change, in the order they came.

export function signal(value) {
  const listeners = new Set();
  return {
    get value() { return value; },
    set value(next) {
      if (Object.is(next, value)) return;
      value = next;
      for (const listener of [...listeners]) listener(value);
    },
    /** Calls now and at every change; gives back how to stop. With an AbortSignal it stops by itself. */
    follow(listener, abort) {
      listeners.add(listener);
      const stop = () => listeners.delete(listener);
      abort?.addEventListener("abort", stop, { once: true });
      listener(value);
      return stop;
    },
  };
}
