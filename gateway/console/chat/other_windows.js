// Whether somebody else has gone on with the thread: another window, another program. The list of threads is looked at
// now and then, which also keeps the history fresh. Not the thread's feed: every window would hold one more connection,
// and a browser has six for all of them.

const EVERY = 3000;

export function watch(session) {
  let seen = marked(session);
  const look = async () => {
    if (document.hidden || session.live) return;
    await session.list();
    const mark = marked(session);
    if (mark === undefined || mark === seen || session.live) return;
    seen = mark;
    await session.refresh();
  };
  const timer = setInterval(() => look().catch(() => {}), EVERY); // the capability feed tells that nobody answers
  session.abort.addEventListener("abort", () => clearInterval(timer), { once: true });
}

function marked({ threads, thread }) {
  const entry = threads.value.find(({ threadId }) => threadId === thread);
  return entry && JSON.stringify([entry.updated, entry.waiting, entry.status]);
}
