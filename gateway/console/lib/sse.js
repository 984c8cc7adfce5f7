// Server-sent events from a fetch: EventSource can send no token and no body.

/** Text in any cut → frames {id, event, data}. Keep-alive comments are dropped. */
export class Frames {
  #rest = "";

  feed(text) {
    const lines = (this.#rest + text).replaceAll("\r\n", "\n").split("\n\n");
    this.#rest = lines.pop();
    return lines.map(read).filter((frame) => frame.data !== undefined);
  }
}

function read(block) {
  const frame = { id: undefined, event: "message", data: undefined };
  for (const line of block.split("\n")) {
    if (line.startsWith(":")) continue;
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (name === "data") frame.data = frame.data === undefined ? value : `${frame.data}\n${value}`;
    else if (name === "id" || name === "event") frame[name] = value;
  }
  return frame;
}

/** Batches of frames, one for each read: what came together is handled together. */
export async function* batches(response) {
  const frames = new Frames(), decoder = new TextDecoder(), reader = response.body.getReader();
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const batch = frames.feed(decoder.decode(value, { stream: true }));
      if (batch.length) yield batch;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
