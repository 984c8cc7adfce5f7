// Files to send along: only of the kinds that the agent takes, by button, by paste, by drop.

import { fill, h, icon, toast } from "../lib/dom.js";
import { modalities, partType } from "./capabilities.js";

/** Of all files of a message: base64 makes a third more of it, and a request has a bound. */
const MOST_BYTES = 6 * 1024 * 1024;

export class Attachments {
  constructor(session) {
    this.session = session;
    this.files = [];
    this.buttons = h("span", { class: "row attach", role: "group", "aria-label": "Attach" });
    this.list = h("ul", { class: "attached", "aria-label": "Attached", hidden: true });
    let shown = "";
    session.capabilities.follow((capabilities) => {
      const kinds = modalities(capabilities), now = kinds.map(({ key }) => key).join();
      if (now === shown) return;
      shown = now;
      this.buttons.hidden = !kinds.length;
      fill(this.buttons, kinds.map((kind) => this.#button(kind)));
    }, session.abort);
  }

  get some() { return this.files.length > 0; }

  #button({ key, label, icon: name, accept }) {
    const input = h("input", { type: "file", hidden: true, multiple: true, accept, "aria-label": label, dataset: { testid: `attach-${key}` }, on: { change: () => { this.add(input.files); input.value = ""; } } });
    return [h("button", { class: "btn quiet only", type: "button", title: label, "aria-label": label, on: { click: () => input.click() } }, icon(name)), input];
  }

  accept(node) {
    node.addEventListener("dragover", (event) => { if (event.dataTransfer?.types.includes("Files")) event.preventDefault(); });
    node.addEventListener("drop", (event) => {
      if (!event.dataTransfer?.files.length) return;
      event.preventDefault();
      this.add(event.dataTransfer.files);
    });
  }

  pasted(event) {
    if (!event.clipboardData?.files.length) return;
    event.preventDefault();
    this.add(event.clipboardData.files);
  }

  async add(files) {
    for (const file of files) {
      const mimeType = file.type || "application/octet-stream", type = partType(mimeType, this.session.capabilities.value);
      const size = this.files.reduce((sum, one) => sum + one.size, file.size);
      if (type === null) toast(`${file.name}: this agent takes no ${mimeType.split("/")[0]} files.`, "bad");
      else if (size > MOST_BYTES) toast(`${file.name}: more than ${MOST_BYTES / 1024 / 1024} MB in one message is too much.`, "bad");
      else this.files.push({ type, mimeType, name: file.name, size: file.size, value: await base64(file) });
    }
    this.#draw();
  }

  #draw() {
    this.list.hidden = !this.some;
    fill(this.list, this.files.map((file) => h("li", { class: "tag" }, file.type === "image" ? h("img", { src: `data:${file.mimeType};base64,${file.value}`, alt: "" }) : icon("file"),
      file.name, h("button", { class: "btn quiet only", type: "button", "aria-label": `Remove ${file.name}`, on: { click: () => { this.files = this.files.filter((one) => one !== file); this.#draw(); } } }, icon("close")))));
  }

  /** AG-UI's parts. */
  content(words) {
    const parts = this.files.map(({ type, mimeType, name, value }) => ({ type, source: { type: "data", value, mimeType }, metadata: { filename: name } }));
    return words.trim() ? [{ type: "text", text: words }, ...parts] : parts;
  }

  clear() {
    this.files = [];
    this.#draw();
  }
}

function base64(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result.slice(reader.result.indexOf(",") + 1));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}
