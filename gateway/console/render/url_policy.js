// Decides which addresses in an agent's text may become links, images or media. Everything else stays text. Pure: no DOM.

const LINK_SCHEMES = new Set(["http:", "https:", "mailto:"]);
const LIKELY_LINK = /^(?:https?|mailto):/i; // a cheap check first: most rejected texts are no addresses
const IMAGE_DATA = /^data:image\/(?:png|jpeg|gif|webp)(?:;base64)?,/i;
const MAX_LINK_CHARS = 4096;

/** The address for an `href`, or null. An allow list, so that a new scheme cannot open a new hole. */
export function safeLink(text) {
  if (typeof text !== "string" || text.length > MAX_LINK_CHARS || !LIKELY_LINK.test(text)) return null;
  try {
    // The browser's own parser decides.
    const url = new URL(text);
    return LINK_SCHEMES.has(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}

/** The address for an `img`, or null. Only embedded pixel images: SVG can carry scripts, and another host would learn who
 *  reads the page. */
export function safeImage(text) {
  return typeof text === "string" && IMAGE_DATA.test(text) ? text : null;
}

/** The address for `audio` or `video`, or null. Only embedded data: `data:audio/…` or `data:video/…`. */
export function safeMedia(text, kind) {
  return typeof text === "string" && new RegExp(`^data:${kind}/[a-z0-9.+-]+(?:;codecs=[\\w.,-]+)?(?:;base64)?,`, "i").test(text) ? text : null;
}
