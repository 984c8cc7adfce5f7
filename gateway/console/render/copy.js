// A button that copies, and says that it did.

import { fill, h, icon, toast } from "../lib/dom.js";

const SAID = 1600; // ms

/** `text`: a string, or a function that gives it when it is wanted. */
export function copyButton(text, label = "Copy", { words = "" } = {}) {
  const button = h("button", { type: "button", class: `btn quiet copy${words ? "" : " only"}`, "aria-label": words ? undefined : label, title: label, on: { click } }, icon("copy"), words);
  async function click(event) {
    event.stopPropagation();
    if (!(await copy(typeof text === "function" ? text() : text))) return toast("The browser did not let it be copied.", "bad");
    fill(button, icon("check"), words ? "Copied" : h("span", { class: "sr", role: "status" }, "Copied"));
    setTimeout(() => fill(button, icon("copy"), words), SAID);
  }
  return button;
}

export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text); // pages over plain HTTP from another machine have no clipboard
  }
}

function copyBySelection(text) {
  const area = h("textarea", { value: text, class: "sr", "aria-hidden": "true" });
  (document.querySelector("dialog[open]") ?? document.body).append(area); // a modal dialog makes the rest inert
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  return done;
}
