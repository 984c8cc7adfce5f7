// Files to attach to a message, by button, paste or drop. Offers only the kinds that the agent accepts.

import { fill, h, icon, toast } from "../lib/dom.js";
import { acceptedModalities, partType } from "./capabilities.js";

/** For all files of a message. Base64 adds a third, and the gateway bounds the size of a request. */
const MAX_TOTAL_BYTES = 6 * 1024 * 1024;

export class Attachments {
  constructor(session) {
    this.session = session;
    this.files = [];
    this.buttons = h("span", { class: "row attach", role: "group", "aria-label": "Attach files" });
    this.list = h("ul", { class: "attached", "aria-label": "Attached files", hidden: true });
    let drawnKinds = "";
    session.capabilities.subscribe((capabilities) => {
      const kinds = acceptedModalities(capabilities), names = kinds.map(({ key }) => key).join();
      if (names === drawnKinds) return;
      drawnKinds = names;
      this.buttons.hidden = !kinds.length;
      fill(this.buttons, kinds.map((kind) => this.#button(kind)));
    }, session.abort);
  }

  get hasFiles() { return this.files.length > 0; }

  #button({ key, label, icon: name, accept }) {
    const input = h("input", { type: "file", hidden: true, multiple: true, accept, "aria-label": label, dataset: { testid: `attach-${key}` },
      on: { change: () => { this.add(input.files); input.value = ""; } } });
    return [h("button", { class: "btn quiet only", type: "button", title: label, "aria-label": label, on: { click: () => input.click() } }, icon(name)), input];
  }

  acceptDrops(node) {
    node.addEventListener("dragover", (event) => { if (event.dataTransfer?.types.includes("Files")) event.preventDefault(); });
    node.addEventListener("drop", (event) => {
      if (!event.dataTransfer?.files.length) return;
      event.preventDefault();
      this.add(event.dataTransfer.files);
    });
  }

  onPaste(event) {
    if (!event.clipboardData?.files.length) return;
    event.preventDefault();
    this.add(event.clipboardData.files);
  }

  async add(files) {
    for (const file of files) {
      const mimeType = file.type || "application/octet-stream", type = partType(mimeType, this.session.capabilities.value);
      const size = this.files.reduce((sum, other) => sum + other.size, file.size);
      if (type === null) toast(`${file.name}: this agent does not accept ${mimeType.split("/")[0]} files.`, "bad");
      else if (size > MAX_TOTAL_BYTES) toast(`${file.name}: the files of one message may have ${MAX_TOTAL_BYTES / 1024 / 1024} MB in total.`, "bad");
      else this.files.push({ type, mimeType, name: file.name, size: file.size, value: await toBase64(file) });
    }
    this.#draw();
  }

  #draw() {
    this.list.hidden = !this.hasFiles;
    fill(this.list, this.files.map((file) => h("li", { class: "tag" },
      file.type === "image" ? h("img", { src: `data:${file.mimeType};base64,${file.value}`, alt: "" }) : icon("file"),
      file.name, h("button", { class: "btn quiet only", type: "button", "aria-label": `Remove ${file.name}`,
        on: { click: () => { this.files = this.files.filter((other) => other !== file); this.#draw(); } } }, icon("close")))));
  }

  /** The message content as AG-UI parts. */
  toContent(text) {
    const parts = this.files.map(({ type, mimeType, name, value }) => ({ type, source: { type: "data", value, mimeType }, metadata: { filename: name } }));
    return text.trim() ? [{ type: "text", text }, ...parts] : parts;
  }

  clear() {
    this.files = [];
    this.#draw();
  }
}

function toBase64(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result.slice(reader.result.indexOf(",") + 1));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}
