// Builds DOM elements from calls: h("p", {class: "muted"}, "text"). No function of the console takes HTML as a string, so
// text from an agent always stays text.

const SVG = "http://www.w3.org/2000/svg";

/** props: `class`, `on` ({event: listener}), `dataset`, `style` (custom properties only: CSP forbids style attributes),
 *  properties of the element (value, checked, disabled, htmlFor, …), and attributes for what is not a property. */
export function h(tag, props, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) setProp(node, name, value);
  append(node, children);
  return node;
}

function setProp(node, name, value) {
  if (value === undefined || value === null || value === false) return;
  if (name === "class") node.className = value;
  else if (name === "on") for (const [event, listener] of Object.entries(value)) node.addEventListener(event, listener);
  else if (name === "dataset") Object.assign(node.dataset, value);
  else if (name === "style") for (const [property, text] of Object.entries(value)) node.style.setProperty(property, text);
  else if (name in node && !name.includes("-") && name !== "list" && name !== "role") node[name] = value;
  else node.setAttribute(name, value === true ? "" : value);
}

function append(node, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : String(child));
  }
}

/** Replaces all children of the node. */
export function fill(node, ...children) {
  node.replaceChildren();
  append(node, children);
  return node;
}

const ICON_PATHS = {
  arrow: "M12 19V5M5 12l7-7 7 7", stop: "M7 7h10v10H7z",
    clip: "M21 11.5l-8.6 8.6a5 5 0 0 1-7-7L14 4.5a3.3 3.3 0 0 1 4.7 4.7l-8.6 8.6a1.7 1.7 0 0 1-2.4-2.4l7.9-7.9",
  sun: "M12 4V2M12 22v-2M4 12H2M22 12h-2M5.6 5.6 4.2 4.2M19.8 19.8l-1.4-1.4M5.6 18.4l-1.4 1.4M19.8 4.2l-1.4 1.4M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8z",
  moon: "M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5z", close: "M6 6l12 12M18 6 6 18", check: "M5 12.5l4.5 4.5L19 7.5",
    down: "M6 9l6 6 6-6", right: "M9 6l6 6-6 6",
  plus: "M12 5v14M5 12h14", copy: "M9 9h11v11H9zM5 15H4V4h11v1", search: "M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM20 20l-4-4",
    tool: "M9 3v5M15 3v5M6 8h12v3a6 6 0 0 1-12 0zM12 17v4",
  info: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM12 11v5M12 8h.01", history: "M3 12a9 9 0 1 0 3-6.7L3 8M3 3v5h5M12 7v5l3 2",
    panel: "M4 5h16v14H4zM15 5v14", bolt: "M13 3 5 14h6l-1 7 8-11h-6z",
  think: "M9 18h6M10 21h4M12 3a6 6 0 0 0-4 10.5c.7.7 1 1.3 1 2.5h6c0-1.2.3-1.8 1-2.5A6 6 0 0 0 12 3z", trash: "M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13",
    warn: "M12 4 2.5 20h19zM12 10v4M12 17h.01", key: "M15 9a4 4 0 1 1-4-4 4 4 0 0 1 4 4zM11 13v8M11 17h3",
    mic: "M12 15a3 3 0 0 0 3-3V6a3 3 0 0 0-6 0v6a3 3 0 0 0 3 3zM6 12a6 6 0 0 0 12 0M12 18v3",
  folder: "M3 6h6l2 2h10v11H3z", up: "M12 19V6M6 12l6-6 6 6", options: "M4 7h10M18 7h2M4 17h2M10 17h10M16 5v4M8 15v4",
  save: "M12 4v11M7 10.5l5 5 5-5M5 20h14", image: "M4 5h16v14H4zM4 16l5-5 4 4 3-3 4 4M15.5 9h.01", file: "M6 3h8l4 4v14H6zM14 3v4h4",
    video: "M3 6h12v12H3zM15 10l6-3v10l-6-3", list: "M8 6h12M8 12h12M8 18h12M4 6h.01M4 12h.01M4 18h.01",
    fork: "M6 4v5a4 4 0 0 0 4 4h4a4 4 0 0 0 4-4V4M12 13v7", slash: "M7 20 17 4",
};

/** Decoration only: hidden from screen readers, so the caller adds a text or an aria-label. */
export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", ICON_PATHS[name] ?? ICON_PATHS.info);
  svg.append(path);
  return svg;
}

const TOAST_MS = 4000, ERROR_TOAST_MS = 9000;

export function toast(text, kind = "") {
  const node = h("div", { class: `toast ${kind}` }, text);
  document.getElementById("toasts").append(node);
  setTimeout(() => node.remove(), kind === "bad" ? ERROR_TOAST_MS : TOAST_MS);
}

/** Opens a modal dialog with a title and a close button. `build(close)` returns its content; the first field gets the focus.
 *  Resolves with the value passed to `close`. Navigation closes the dialog. */
export function openDialog(title, build) {
  return new Promise((resolve) => {
    const close = (value) => { dialog.result = value; dialog.close(); };
    const dialog = h("dialog", { "aria-label": title },
      h("div", { class: "inside stack" },
        h("div", { class: "row" }, h("h2", { class: "grow" }, title),
          h("button", { class: "btn quiet only", "aria-label": "Close", on: { click: () => close() } }, icon("close"))),
        build((value) => close(value))));
    const closeOnNavigation = () => close();
    addEventListener("hashchange", closeOnNavigation);
    dialog.addEventListener("close", () => { removeEventListener("hashchange", closeOnNavigation); dialog.remove(); resolve(dialog.result); });
    dialog.addEventListener("click", (event) => { if (event.target === dialog) close(); });
    document.getElementById("overlay").append(dialog);
    dialog.showModal();
    dialog.querySelector("input, textarea, select")?.focus();
  });
}
