// A value with subscribers. Each subscriber is called once per change, in the order of subscription.

export function signal(value) {
  const listeners = new Set();
  return {
    get value() { return value; },
    set value(next) {
      if (Object.is(next, value)) return;
      value = next;
      for (const listener of [...listeners]) listener(value);
    },
    /** Calls the listener now and after every change. Returns a function that ends the subscription; `abort` ends it too. */
    subscribe(listener, abort) {
      listeners.add(listener);
      const stop = () => listeners.delete(listener);
      abort?.addEventListener("abort", stop, { once: true });
      listener(value);
      return stop;
    },
  };
}
