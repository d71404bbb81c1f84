// The plan as boxes and lines. Where they stand is worked out by the server; here they are drawn once
// and then only touched where something has changed.

import { h, put, s, the } from "./dom.js";
import { OVER, look, ranks, standing, title, why } from "./run.js";
import { get, ofRun } from "./server.js";
import { Sheet } from "./sheet.js";

export class Graph {
  constructor(open, drawn) {
    this.open = open;
    this.drawn = drawn;
    this.lines = s("svg", { "aria-hidden": "true" });
    this.paper = h("div", { class: "paper" });
    this.place = the("sheet");
    this.place.append(this.paper);
    this.sheet = new Sheet(this.place, this.paper);
    this.boxes = new Map();
    this.paths = [];
    this.toggled = new Set();
    this.fold = null;
    this.asked = 0;
    this.place.addEventListener("keydown", (event) => this.#key(event));
    this.place.addEventListener("click", (event) => this.#click(event));
    this.place.addEventListener("focusin", (event) => { const box = this.#named(event.target); if (box && event.target.matches(":focus-visible")) this.sheet.show(box.at); this.#near(box?.name); });
    this.place.addEventListener("pointerover", (event) => this.#near(this.#named(event.target)?.name));
    this.place.addEventListener("pointerleave", () => this.#near(null));
    the("zoom-in").onclick = () => this.sheet.zoom(1.4);
    the("zoom-out").onclick = () => this.sheet.zoom(1 / 1.4);
    the("zoom-fit").onclick = () => this.sheet.fit();
  }

  begin() {
    this.toggled.clear();
    this.sheet.touched = false;
    this.boxes.clear();
    this.run = null;
    put(this.paper);
  }

  // Asks for the drawing together with the run itself, not after it; only the first drawing uses it.
  early(name, fold) {
    this.fold = { 1: true, 0: false }[fold] ?? null;
    this.sooner = get(ofRun(name, `layout?${this.#query()}`)).catch(() => null);
  }

  #query() {
    return new URLSearchParams({ solved: this.fold === null ? "" : this.fold ? "1" : "0", toggled: [...this.toggled].join(",") });
  }

  hear(run, news) {
    this.run = run;
    if (!run.nodes.size) return;
    const folds = this.fold && run.changed.some((name) => this.#foldChanged(name));
    if (news.has("shape") || folds) this.draw();
    else for (const name of run.changed) this.#dress(name);
  }

  #foldChanged(name) {
    const node = this.run.nodes.get(name), box = this.boxes.get(name);
    return node?.children.length && (!box || box.over !== OVER.includes(node.status));
  }

  isFolded(node) {
    return node.children.length > 0 && Boolean(this.fold && OVER.includes(node.status)) !== this.toggled.has(node.id);
  }

  toggle(name) {
    if (!this.toggled.delete(name)) this.toggled.add(name);
    this.draw();
  }

  // Asks where everything stands; of several answers on their way only the last counts.
  async draw() {
    const mine = ++this.asked, run = this.run;
    let drawn;
    try { drawn = (await this.sooner) ?? await get(ofRun(run.head.run, `layout?${this.#query()}`)); } catch { return; }
    this.sooner = null;
    if (mine !== this.asked || run !== this.run) return;
    this.fold = drawn.solved;
    the("fold").checked = drawn.solved;
    the("folded").textContent = drawn.hidden ? ` (${drawn.hidden})` : "";
    const focused = this.#named(document.activeElement)?.name;
    const boxes = new Map();
    const tree = document.createDocumentFragment();
    for (const [name, x, y, width, height] of drawn.boxes) {
      const box = this.boxes.get(name) ?? { name, button: h("button", { type: "button", class: "box", tabindex: "-1", data: { name } }) };
      box.at = { x, y, width, height };
      Object.assign(box.button.style, { left: `${x}px`, top: `${y}px`, width: `${width}px`, height: `${height}px` });
      boxes.set(name, box);
      tree.append(box.button);
    }
    this.boxes = boxes;
    this.lines = s("svg", { "aria-hidden": "true", width: drawn.width, height: drawn.height });
    this.paths = drawn.lines.map(([source, target, link, d]) => ({ source, target, link, path: s("path", { d, class: link }) }));
    this.lines.append(...this.paths.map((line) => line.path));
    for (const name of boxes.keys()) this.#dress(name, false);
    for (const line of this.paths) this.#dressLine(line);
    this.sheet.resize(drawn, this.#urgent(run)); // first, so that what is too small to be read is not laid out
    put(this.paper, this.lines, tree);
    const first = boxes.get(focused ?? this.chosen) ?? boxes.values().next().value;
    if (first) first.button.tabIndex = 0;
    if (focused) boxes.get(focused)?.button.focus({ preventScroll: true });
    this.#mark();
    this.drawn();
  }

  // Where a person should look first.
  #urgent(run) {
    const order = ranks(run);
    let best = null;
    for (const box of this.boxes.values()) if (!run.nodes.get(box.name)?.children.length && (!best || order.get(box.name) < order.get(best.name))) best = box;
    return best?.at ?? null;
  }

  #dress(name, lines = true) {
    const box = this.boxes.get(name), node = this.run.nodes.get(name);
    if (!box || !node) return;
    const folded = this.isFolded(node), hidden = folded ? this.run.below(name) : 0;
    box.over = OVER.includes(node.status);
    box.button.className = `box ${node.kind} ${look(node)}${name === this.chosen ? " chosen" : ""}`;
    const text = node.kind === "group" ? title(node) : node.description || title(node);
    const parked = node.status === "parked" ? `parked, last: ${why(node)}` : "";
    box.button.title = [node.kind === "group" ? `${title(node)}${node.failed.length ? `; ${node.failed.length} given up` : ""}` : node.description, parked].filter(Boolean).join("\n");
    box.button.setAttribute("aria-label", [name, text, parked || standing(node), hidden ? `${hidden} below, folded` : ""].filter(Boolean).join(", "));
    put(box.button,
      h("span", { class: "id" }, h("span", { class: "name" }, node.kind === "group" && !/^or(?![a-z])/i.test(name) ? `or ${name}` : name), note(node) ? h("span", { class: "note" }, note(node)) : null,
        node.children.length ? h("span", { class: "fold", title: folded ? "Unfold" : "Fold" }, folded ? `+${hidden}` : "−") : null),
      node.kind === "group" ? null : h("span", { class: "text" }, text));
    if (lines) for (const line of this.paths) if (line.source === name || line.target === name) this.#dressLine(line);
  }

  #dressLine({ source, target, link, path }) {
    const from = this.run.nodes.get(source), to = this.run.nodes.get(target);
    const taken = link === "choice" && from?.selected === target;
    path.setAttribute("class", `${link}${taken ? " taken" : ""}${to && OVER.includes(to.status) && !taken ? " over" : ""}`);
  }

  choose(name) {
    this.chosen = name;
    this.#mark();
  }

  #mark() {
    for (const [name, { button }] of this.boxes) button.classList.toggle("chosen", name === this.chosen);
  }

  #near(name) {
    const shown = name && this.boxes.has(name) ? name : null;
    if (shown === this.shownNear) return;
    this.shownNear = shown;
    this.paper.classList.toggle("choosing", shown !== null && this.boxes.size > 1);
    for (const { source, target, path } of this.paths) path.classList.toggle("near", shown !== null && (source === shown || target === shown));
  }

  #named(element) {
    return this.boxes.get(element?.closest?.(".box")?.dataset.name);
  }

  #click(event) {
    const box = this.#named(event.target);
    if (!box || this.sheet.moved > 4) return;
    if (event.target.closest(".fold")) this.toggle(box.name);
    else this.open(box.name);
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const acts = { "+": () => this.sheet.zoom(1.4), "=": () => this.sheet.zoom(1.4), "-": () => this.sheet.zoom(1 / 1.4), 0: () => this.sheet.fit() };
    const box = this.#named(event.target);
    const way = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] }[event.key];
    if (acts[event.key]) acts[event.key]();
    else if (way && box) this.#step(box, way);
    else if (event.key === "f" && box) this.toggle(box.name);
    else return;
    event.preventDefault();
  }

  // To the nearest box that way; what lies aside counts a little more.
  #step(from, [dx, dy]) {
    let best = null, least = Infinity;
    for (const box of this.boxes.values()) {
      const x = box.at.x - from.at.x, y = box.at.y - from.at.y;
      const ahead = x * dx + y * dy, aside = Math.abs(x * dy) + Math.abs(y * dx);
      if (box !== from && ahead > 1 && ahead + 1.2 * aside < least) [best, least] = [box, ahead + 1.2 * aside];
    }
    if (!best) return;
    from.button.tabIndex = -1;
    best.button.tabIndex = 0;
    best.button.focus({ preventScroll: true });
  }
}

function note(node) {
  if (node.kind === "group") return "";
  if (node.status === "running" && node.children.length === 0) return `attempt ${Math.max(1, node.attempts)}`;
  if (node.status === "parked") return "parked";
  if (node.status === "resolved" || node.attempts === 0 || node.children.length) return "";
  return `${node.attempts} of ${node.max_attempts} tried`;
}
