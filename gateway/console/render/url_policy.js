// Which addresses an agent's words may lead to. Everything else stays text. Pure.

const SCHEMES = new Set(["http:", "https:", "mailto:"]);
const LIKELY = /^(?:https?|mailto):/i; // before the costly look: most of what is refused is no address at all
const IMAGES = /^data:image\/(?:png|jpeg|gif|webp)(?:;base64)?,/i;
const LONGEST_LINK = 4096;

/** The address for an `href`, or null. What is allowed is listed, so a new scheme is not a new hole. */
export function safeLink(text) {
  if (typeof text !== "string" || text.length > LONGEST_LINK || !LIKELY.test(text)) return null;
  try {
    // The browser's own reading decides, not ours.
    const url = new URL(text);
    return SCHEMES.has(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}

/** The address for an `img`, or null: only pixels that came along. SVG is a document, and other hosts would see who reads. */
export function safeImage(text) {
  return typeof text === "string" && IMAGES.test(text) ? text : null;
}

/** The same for `audio` and `video`: `data:audio/…` or `data:video/…`. */
export function safeMedia(text, kind) {
  return typeof text === "string" && new RegExp(`^data:${kind}/[a-z0-9.+-]+(?:;codecs=[\\w.,-]+)?(?:;base64)?,`, "i").test(text) ? text : null;
}
