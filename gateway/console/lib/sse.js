// Reads server-sent events from a fetch response. EventSource cannot be used: it sends neither a token nor a body.

/** Splits text, received in arbitrary pieces, into frames {id, event, data}. Drops keep-alive comments. */
export class FrameParser {
  #buffer = "";

  feed(text) {
    const blocks = (this.#buffer + text).replaceAll("\r\n", "\n").split("\n\n");
    this.#buffer = blocks.pop();
    return blocks.map(parseFrame).filter((frame) => frame.data !== undefined);
  }
}

function parseFrame(block) {
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

/** Yields one batch of frames for each read of the response. */
export async function* readFrames(response) {
  const parser = new FrameParser(), decoder = new TextDecoder(), reader = response.body.getReader();
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const batch = parser.feed(decoder.decode(value, { stream: true }));
      if (batch.length) yield batch;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
