// A minimal fake DOM for the console's views: elements, text, classes; no styles, no layout. Import it before them, because
// some modules read the browser's storage when they are loaded.

globalThis.sessionStorage ??= { getItem: () => null, setItem() {}, removeItem() {} };

class FakeNode {
  constructor(tag) {
    Object.assign(this, { tag, childNodes: [], parent: null, attributes: {}, dataset: {}, className: "", hidden: false, open: false, title: "",
      scrollTop: 0, scrollHeight: 0, clientHeight: 0 });
    this.style = { setProperty() {} };
  }

  get nodeType() { return this.tag === "#text" ? 3 : 1; }
  get firstChild() { return this.childNodes[0] ?? null; }
  get lastChild() { return this.childNodes.at(-1) ?? null; }
  get textContent() { return this.tag === "#text" ? this.data : this.childNodes.map((node) => node.textContent).join(""); }
  set textContent(text) { this.replaceChildren(text); }
  get classList() {
    const names = () => this.className.split(" ").filter(Boolean), set = (classes) => (this.className = classes.join(" "));
    const remove = (name) => set(names().filter((other) => other !== name)), add = (name) => { remove(name); set([...names(), name]); };
    return { add, remove, contains: (name) => names().includes(name), toggle: (name, on) => (on ? add : remove)(name) };
  }

  append(...nodes) { for (const node of nodes) this.#insert(node, this.childNodes.length); }
  prepend(node) { this.#insert(node, 0); }
  appendChild(node) { this.append(node); return node; }
  #insert(value, index) {
    const node = value instanceof FakeNode ? value : text(value);
    if (node.tag === "#fragment") { node.childNodes.splice(0).forEach((child,
      offset) => { child.parent = null; this.#insert(child, index + offset); }); return; }
    node.remove();
    node.parent = this;
    this.childNodes.splice(index, 0, node);
  }

  replaceChildren(...nodes) { for (const node of this.childNodes.splice(0)) node.parent = null; this.append(...nodes); }
  replaceWith(node) { const { parent } = this, at = parent.childNodes.indexOf(this); this.remove(); parent.#insert(node, at); }
  remove() { if (this.parent) this.parent.childNodes.splice(this.parent.childNodes.indexOf(this), 1); this.parent = null; }
  appendData(more) { this.data += more; }
  contains(node) { return node === this || this.childNodes.some((child) => child.contains(node)); }
  setAttribute(name, value) { this.attributes[name] = value; }
  addEventListener() {}
}

const text = (data) => Object.assign(new FakeNode("#text"), { data: String(data) });

/** The node as markup, to compare two nodes. Groups only affect the layout and are left out. */
export function toMarkup(node) {
  if (node.tag === "#text") return node.data;
  const inside = node.childNodes.map(toMarkup).join("");
  if (node.className === "md-group") return inside;
  return `<${node.tag}${node.className ? ` ${node.className}` : ""}>${inside}</${node.tag}>`;
}

/** Installs the fake page. `frame()` runs the waiting animation frame callbacks and returns their number. */
export function fakePage() {
  const callbacks = [];
  FakeNode.TEXT_NODE = 3;
  Object.assign(globalThis, {
    Node: FakeNode, ResizeObserver: class { observe() {} }, requestAnimationFrame: (callback) => callbacks.push(callback),
    document: { hidden: false, createElement: (tag) => new FakeNode(tag), createElementNS: (_, tag) => new FakeNode(tag),
      createDocumentFragment: () => new FakeNode("#fragment") },
  });
  return { frame: () => callbacks.splice(0).map((callback) => callback()).length };
}
