// Notices when another window or program continues the thread. It polls the list of threads, which also keeps the history
// current. It does not use the thread's event stream: each window would keep one more connection, and a browser allows six.

const POLL_MS = 3000;

export function watchOtherWindows(session) {
  let lastKey = threadKey(session);
  const poll = async () => {
    if (document.hidden || session.live) return;
    await session.loadThreads();
    const key = threadKey(session);
    if (key === undefined || key === lastKey || session.live) return;
    lastKey = key;
    await session.refresh();
  };
  const timer = setInterval(() => poll().catch(() => {}), POLL_MS); // the capability stream reports an unreachable gateway
  session.abort.addEventListener("abort", () => clearInterval(timer), { once: true });
}

function threadKey({ threads, thread }) {
  const entry = threads.value.find(({ threadId }) => threadId === thread);
  return entry && JSON.stringify([entry.updated, entry.pendingRunId, entry.status]);
}
