// Whether the thread's folder is trusted, and the question about it: what the project's own configuration would run or set.

import { h } from "../lib/dom.js";
import { readConfiguration, readTrust } from "./trust_facts.js";

/** The list in the question; null for any other interrupt. */
export function configurationView(interrupt) {
  const folders = readConfiguration(interrupt);
  if (!folders) return null;
  return folders.map(({ folder, files }) => h("div", { class: "configuration", dataset: { testid: "configuration" } },
    h("p", { class: "small muted mono" }, folder),
    files.map(({ file, items }) => h("div", {}, h("p", { class: "small mono" }, file || "…"),
      h("ul", {}, items.map(({ kind, key, text }) => h("li", { class: "small" },
        h("span", { class: "tag" }, kind), " ", key && h("span", { class: "mono" }, `${key} `), h("code", {}, text))))))));
}

/** A tag for the header; null where nothing is known, or where everything is as the user wants it. */
export function trustTag(capabilities) {
  const trust = readTrust(capabilities);
  return trust && h("span", { class: `tag ${trust.kind}`, title: trust.about, dataset: { testid: "trust" } }, trust.label);
}
