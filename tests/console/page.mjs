// As much of a page as the console's views need to be built: elements, text, classes. No styles, no layout.
// Imported before them: some look for the browser's storage as soon as they are loaded.

globalThis.sessionStorage ??= { getItem: () => null, setItem() {}, removeItem() {} };

class Fake {
  constructor(tag) {
    Object.assign(this, { tag, childNodes: [], parent: null, attributes: {}, dataset: {}, className: "", hidden: false, open: false, title: "", scrollTop: 0, scrollHeight: 0, clientHeight: 0 });
    this.style = { setProperty() {} };
  }

  get nodeType() { return this.tag === "#text" ? 3 : 1; }
  get firstChild() { return this.childNodes[0] ?? null; }
  get lastChild() { return this.childNodes.at(-1) ?? null; }
  get textContent() { return this.tag === "#text" ? this.data : this.childNodes.map((node) => node.textContent).join(""); }
  set textContent(text) { this.replaceChildren(text); }
  get classList() {
    const names = () => this.className.split(" ").filter(Boolean), put = (found) => (this.className = found.join(" "));
    const remove = (name) => put(names().filter((one) => one !== name)), add = (name) => { remove(name); put([...names(), name]); };
    return { add, remove, contains: (name) => names().includes(name), toggle: (name, on) => (on ? add : remove)(name) };
  }

  append(...nodes) { for (const node of nodes) this.#put(node, this.childNodes.length); }
  prepend(node) { this.#put(node, 0); }
  appendChild(node) { this.append(node); return node; }
  #put(given, at) {
    const node = given instanceof Fake ? given : text(given);
    if (node.tag === "#fragment") { node.childNodes.splice(0).forEach((child, index) => { child.parent = null; this.#put(child, at + index); }); return; }
    node.remove();
    node.parent = this;
    this.childNodes.splice(at, 0, node);
  }

  replaceChildren(...nodes) { for (const node of this.childNodes.splice(0)) node.parent = null; this.append(...nodes); }
  replaceWith(node) { const { parent } = this, at = parent.childNodes.indexOf(this); this.remove(); parent.#put(node, at); }
  remove() { if (this.parent) this.parent.childNodes.splice(this.parent.childNodes.indexOf(this), 1); this.parent = null; }
  appendData(more) { this.data += more; }
  contains(node) { return node === this || this.childNodes.some((child) => child.contains(node)); }
  setAttribute(name, value) { this.attributes[name] = value; }
  addEventListener() {}
}

const text = (data) => Object.assign(new Fake("#text"), { data: String(data) });

/** As it would be written: what two nodes have alike is the same string. Groups are a matter of layout, and left out. */
export function written(node) {
  if (node.tag === "#text") return node.data;
  const inside = node.childNodes.map(written).join("");
  if (node.className === "md-group") return inside;
  return `<${node.tag}${node.className ? ` ${node.className}` : ""}>${inside}</${node.tag}>`;
}

/** Frames come when the test says so: `frame()` gives how many waited. */
export function openPage() {
  const waiting = [];
  Fake.TEXT_NODE = 3;
  Object.assign(globalThis, {
    Node: Fake, ResizeObserver: class { observe() {} }, requestAnimationFrame: (go) => waiting.push(go),
    document: { hidden: false, createElement: (tag) => new Fake(tag), createElementNS: (_, tag) => new Fake(tag), createDocumentFragment: () => new Fake("#fragment") },
  });
  return { frame: () => waiting.splice(0).map((go) => go()).length };
}
