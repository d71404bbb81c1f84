// The plan as a list: for small screens, for screen readers, and for who likes lists.

import { h, put, the } from "./dom.js";
import { look, standing, title } from "./run.js";

export class Outline {
  constructor(graph, open) {
    this.graph = graph;
    this.open = open;
  }

  draw(run) {
    const place = the("outline");
    const focused = place.contains(document.activeElement) ? document.activeElement.dataset.name : null;
    const top = run.nodes.get("");
    put(place, top ? this.#list(run, top) : null);
    if (focused) place.querySelector(`[data-name="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
  }

  #list(run, parent, depth = 0) {
    return h("ul", {}, parent.children.map((name) => {
      const node = run.nodes.get(name);
      if (!node) return null;
      const folded = this.graph.isFolded(node);
      const more = folded ? `${run.below(name)} folded` : standing(node);
      return h("li", {},
        h("button", { type: "button", class: `row ${node.kind} ${look(node)}`, data: { name }, style: { "padding-left": `${8 + depth * 20}px` }, on: { click: () => this.open(name) } },
          h("span", { class: "dot" }), h("span", { class: "id" }, name), h("span", { class: "text", title: node.description }, title(node)), h("span", { class: "note" }, more)),
        node.children.length && !folded ? this.#list(run, node, depth + 1) : null);
    }));
  }
}

const LEGEND = [["ready", "ready"], ["running", "running"], ["resolved", "resolved"], ["pending", "waits"], ["parked", "parked: nothing left to try for now"], ["failed", "given up"], ["left", "aside: left, or in reserve"], ["or", "or: one of several ways"]];

export function legend() {
  put(the("legend"), LEGEND.map(([name, text]) => h("li", { class: name }, h("i"), text)));
}
