// A button that copies text to the clipboard and confirms it.

import { fill, h, icon, toast } from "../lib/dom.js";

const CONFIRMATION_MS = 1600;

/** `text`: a string, or a function that returns it. `caption`: visible text beside the icon. */
export function copyButton(text, label = "Copy", { caption = "" } = {}) {
  const button = h("button", { type: "button", class: `btn quiet copy${caption ? "" : " only"}`, "aria-label": caption ? undefined : label,
    title: label, on: { click } }, icon("copy"), caption);
  async function click(event) {
    event.stopPropagation();
    if (!(await copyText(typeof text === "function" ? text() : text))) return toast("The browser blocked access to the clipboard.", "bad");
    fill(button, icon("check"), caption ? "Copied" : h("span", { class: "sr", role: "status" }, "Copied"));
    setTimeout(() => fill(button, icon("copy"), caption), CONFIRMATION_MS);
  }
  return button;
}

export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text); // pages served over plain HTTP by another host have no clipboard API
  }
}

function copyBySelection(text) {
  const area = h("textarea", { value: text, class: "sr", "aria-hidden": "true" });
  (document.querySelector("dialog[open]") ?? document.body).append(area); // a modal dialog makes everything outside it inert
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  return done;
}
