// The plan as a list: for small screens, for screen readers, and for who likes lists. What failed comes
// first, then what runs, then what is ready; of a plan that is folded, what is over is put away at the end.

import { h, put, the } from "./dom.js";
import { look, ranks, standing, title, why } from "./run.js";

const FINISHED = ["resolved", "left"];

export class Outline {
  constructor(graph, open) {
    this.graph = graph;
    this.open = open;
    this.unfolded = new Set();
  }

  draw(run) {
    const place = the("outline");
    const focused = place.contains(document.activeElement) ? document.activeElement.dataset.name : null;
    const top = run.nodes.get("");
    put(place, top ? this.#list(run, top, ranks(run)) : null);
    if (focused !== null) place.querySelector(`[data-name="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
  }

  #list(run, parent, order, depth = 0) {
    const kids = parent.children.map((name) => run.nodes.get(name)).filter(Boolean).sort((one, other) => order.get(one.id) - order.get(other.id));
    const over = this.graph.fold && parent.kind !== "group" ? kids.filter((node) => FINISHED.includes(node.status)) : [];
    const folds = over.length > 1 && over.length < kids.length;
    const rows = (nodes) => nodes.map((node) => this.#row(run, node, order, depth));
    return h("ul", {}, rows(folds ? kids.filter((node) => !over.includes(node)) : kids), folds ? this.#finished(parent.id, over, depth, rows) : null);
  }

  #row(run, node, order, depth) {
    const folded = this.graph.isFolded(node);
    const more = folded ? `${run.below(node.id)} folded` : standing(node);
    const reason = node.undone || (node.status === "failed" && node.note) ? why(node) : "";
    return h("li", {},
      h("button", { type: "button", class: `row ${node.kind} ${look(node)}`, data: { name: node.id }, style: { "padding-left": `${8 + depth * 20}px` }, on: { click: () => this.open(node.id) } },
        h("span", { class: "dot" }), h("span", { class: "id" }, node.id),
        h("span", { class: "text", title: node.description }, title(node), reason ? h("span", { class: "because" }, reason) : null), h("span", { class: "note" }, more)),
      node.children.length && !folded ? this.#list(run, node, order, depth + 1) : null);
  }

  #finished(name, over, depth, rows) {
    const open = this.unfolded.has(name);
    const flip = () => { if (!this.unfolded.delete(name)) this.unfolded.add(name); };
    const made = h("details", { open, on: { toggle: (event) => { if (event.target.open !== this.unfolded.has(name)) { flip(); if (event.target.open) event.target.append(h("ul", {}, rows(over))); else event.target.querySelector("ul")?.remove(); } } } },
      h("summary", { class: "row", data: { name: `over:${name}` }, style: { "padding-left": `${8 + depth * 20}px` } }, `${over.length} finished`),
      open ? h("ul", {}, rows(over)) : null);
    return h("li", {}, made);
  }
}

const LEGEND = [["ready", "ready"], ["running", "running"], ["resolved", "resolved"], ["pending", "waits"], ["parked", "parked: nothing left to try for now"], ["failed", "given up"], ["left", "aside: left, or in reserve"], ["or", "or: one of several ways"]];

export function legend() {
  put(the("legend"), LEGEND.map(([name, text]) => h("li", { class: name }, h("i"), text)));
}
